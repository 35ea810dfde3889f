// A room as one of its hosts sees it and acts in it.

import { Actor, type Deed } from '../../lib/hosts/acting';
import { systemClock } from '../../lib/page/clock';
import { DeviceKey, beginHosting } from '../../lib/page/cryptography';
import type { Deployment, Pin } from '../../lib/servers/deployment';
import { isToModerate, remember, type Hosted } from '../../lib/hosts/hosted';
import type { PollForm } from '../../lib/hosts/hostlog';
import { messagesOf } from '../../lib/hosts/wall/moderation';
import { epochOf } from '../../lib/hosts/wall/polls';
import { reasonOf, type Reason } from '../../lib/servers/reason';
import { epochView, isClosed } from '../../lib/rooms/seen/view';
import { LocalizedError } from '../../lib/servers/localized';
import { Viewing } from '../../lib/rooms/seen/viewing.svelte';
import { t } from '../../i18n/host';
import { Draft } from './polls/draft.svelte';

/** An invitation that was made on this page. */
export interface Made {
  /** As the log counts it; the host finds it again by that. */
  number: number;
  link: string;
}

/** The link of a co-host that was made on this page. */
export interface CoHostLink {
  key: string;
  name: string;
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
  /** Links of co-hosts, likewise. */
  coHostLinks = $state.raw<CoHostLink[]>([]);
  /** The question that is being written. */
  readonly draft = new Draft();

  readonly messages = $derived(messagesOf(this.entries, this.log));
  readonly epoch = $derived(
    epochView(this.reports, undefined, this.most, this.minimum, this.trust),
  );
  /** Seconds of an epoch. */
  readonly seconds = $derived(this.stage.at === 'open' ? this.stage.deployment.seconds : 1);
  readonly closed = $derived(this.log.closed || isClosed(this.reports, this.trust));
  /** This key as the log knows it. */
  private readonly self = $derived(this.log.hosts.find(({ key }) => key === this.key));
  readonly may = $derived(this.self?.active ?? false);
  /** How a co-host is called; empty for the first host. */
  readonly name = $derived(this.self?.name ?? '');

  /** Whether something would be lost with this page that is nowhere else. */
  readonly holdsLinks = $derived(this.invitations.length + this.coHostLinks.length > 0);

  private actor: Actor | null = null;
  /** The room as this browser remembers it. */
  private hosting: Hosted | null = null;

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
      // Said once by a host, it is not said again by this page.
      if (typeof deed === 'object' && 'moderate' in deed && this.hosting)
        this.remembered = remember(localStorage, this.hosting);
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
      if (collecting === undefined) throw new LocalizedError(t.polls.noEpoch);
      return {
        poll: { poll: { question, form, epoch: this.free(epochOf(collecting, wanted, seconds)) } },
      };
    });
    // What is asked now takes the place of what was shown alone.
    if (asked && this.log.spotlight) await this.act({ spotlight: { target: null } });
    return asked;
  }

  protected override async live(deployment: Deployment, signal: AbortSignal): Promise<void> {
    const log = this.hostLog;
    if (!log) throw new Error('the room is not open');
    const key = DeviceKey.fromInvitation(this.seed);
    this.key = key.publicKey();
    const grown = () => this.showLog();
    grown();
    // A host who has lost the link finds the room again in this browser.
    const hosted = (this.hosting = { ...this.pin, name: deployment.name, seed: this.seed });
    const unmoderated = isToModerate(localStorage, hosted);
    this.remembered = remember(localStorage, { ...hosted, ...(unmoderated && { moderate: true }) });
    const machine = beginHosting(log, key, true);
    const servers = this.servers(deployment);
    this.actor = new Actor(machine, servers, log, systemClock, signal, grown);
    // What its host wanted to be so from the beginning could not be said when the room was opened.
    if (unmoderated) void this.act({ moderate: { on: true } });
    await super.live(deployment, signal);
  }
}
