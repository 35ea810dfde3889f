// A room as one of its hosts sees it and acts in it.

import { Actor, type Deed } from '../../lib/acting';
import { systemClock } from '../../lib/clock';
import { DeviceKey } from '../../lib/cryptography';
import type { Deployment, Pin } from '../../lib/deployment';
import { remember } from '../../lib/hosted';
import type { PollForm } from '../../lib/hostlog';
import { HostingServer } from '../../lib/hosting';
import { messagesOf } from '../../lib/moderation';
import { epochOf } from '../../lib/polls';
import { reasonOf, type Reason } from '../../lib/reason';
import type { Statuses } from '../../lib/statuses';
import { epochView, isClosed } from '../../lib/view';
import { Told } from '../../lib/told';
import { Viewing } from '../../lib/viewing.svelte';
import { t } from '../../messages/host';

/** An invitation that was made on this page. */
export interface Made {
  /** As the log counts it; the host finds it again by that. */
  number: number;
  link: string;
}

export class Console extends Viewing {
  /** This host's public key. */
  key = $state('');
  /** Why the last action was not done; `null` if it was. */
  failure = $state.raw<Reason | null>(null);
  /** Whether this browser keeps this host's key. */
  remembered = $state(false);
  /** Actions on their way. */
  pending = $state(0);
  /** Links that were made here, for one person each, and are nowhere else. */
  invitations = $state.raw<Made[]>([]);

  readonly messages = $derived(messagesOf(this.entries, this.log));
  readonly epoch = $derived(epochView(this.reports, undefined));
  readonly closed = $derived(this.log.closed || isClosed(this.reports));
  /** This key as the log knows it. */
  private readonly self = $derived(this.log.hosts.find(({ key }) => key === this.key));
  readonly may = $derived(this.self?.active ?? false);
  /** How a co-host is called; empty for the first host. */
  readonly name = $derived(this.self?.name ?? '');

  private actor: Actor | null = null;

  constructor(
    pin: Pin,
    readonly seed: string,
  ) {
    super(pin);
  }

  /** Signs and sends; whether it was done. A function is asked anew if somebody else was first. */
  async act(deed: Deed | (() => Deed)): Promise<boolean> {
    if (!this.actor) return false;
    this.pending++;
    try {
      await this.actor.act(typeof deed === 'function' ? deed : () => deed);
      this.failure = null;
      return true;
    } catch (error) {
      this.failure = reasonOf(error, 'act');
      return false;
    } finally {
      this.pending--;
    }
  }

  /** The first epoch from this one on that no other poll has. */
  free(epoch: number): number {
    const taken = new Set(this.log.polls.flatMap((poll) => (poll.withdrawn ? [] : [poll.epoch])));
    while (taken.has(epoch)) epoch++;
    return epoch;
  }

  /** Asks a question to which people get `wanted` seconds to answer; whether it was asked. */
  async ask(question: string, form: PollForm, wanted: number): Promise<boolean> {
    const { stage } = this;
    if (stage.at !== 'open') return false;
    const { seconds } = stage.deployment;
    const asked = await this.act(() => {
      const collecting = this.epoch?.number;
      if (collecting === undefined) throw new Told(t.polls.noEpoch);
      return { poll: { poll: { question, form, epoch: this.free(epochOf(collecting, wanted, seconds)) } } };
    });
    // What is asked now takes the place of what was shown alone.
    if (asked && this.log.spotlight) await this.act({ spotlight: { target: null } });
    return asked;
  }

  protected override async live(deployment: Deployment, statuses: Statuses, signal: AbortSignal): Promise<void> {
    const log = this.hostLog;
    if (!log) throw new Error('the room is not open');
    const key = DeviceKey.fromInvitation(this.seed);
    this.key = key.publicKey();
    const grown = () => this.showLog();
    grown();
    // A host who has lost the link finds the room again in this browser.
    this.remembered = remember(localStorage, { ...this.pin, name: deployment.name, seed: this.seed });
    const servers = deployment.operators.map(({ origin }) => new HostingServer(origin));
    this.actor = new Actor(this.pin.room, servers, log, key, systemClock, grown);
    await super.live(deployment, statuses, signal);
  }
}
