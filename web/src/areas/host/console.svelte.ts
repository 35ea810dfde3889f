// A room as one of its hosts sees it and acts in it.

import { Actor, type Deed } from '../../lib/acting';
import { systemClock } from '../../lib/clock';
import { DeviceKey } from '../../lib/cryptography';
import type { Deployment, Pin } from '../../lib/deployment';
import { hostedRooms, remember } from '../../lib/hosted';
import type { LogView } from '../../lib/hostlog';
import { HostingServer } from '../../lib/hosting';
import { messagesOf } from '../../lib/moderation';
import type { Statuses } from '../../lib/statuses';
import { epochView, isClosed } from '../../lib/view';
import { Viewing } from '../../lib/viewing.svelte';

/** An invitation that was made on this page. */
export interface Made {
  /** As the log counts it; the host finds it again by that. */
  number: number;
  link: string;
}

export class Console extends Viewing {
  /** This host's public key. */
  key = $state('');
  /** Why the last action was not done; empty if it was. */
  failure = $state('');
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
      this.failure = '';
      return true;
    } catch (error) {
      this.failure = error instanceof Error ? error.message : String(error);
      return false;
    } finally {
      this.pending--;
    }
  }

  protected override async live(deployment: Deployment, statuses: Statuses, signal: AbortSignal): Promise<void> {
    const log = this.hostLog;
    if (!log) throw new Error('the room is not open');
    const key = DeviceKey.fromInvitation(this.seed);
    this.key = key.publicKey();
    const grown = () => {
      this.log = JSON.parse(log.view()) as LogView;
    };
    grown();
    this.keep(deployment);
    const servers = deployment.operators.map(({ origin }) => new HostingServer(origin));
    this.actor = new Actor(this.pin.room, servers, log, key, systemClock, grown);
    await super.live(deployment, statuses, signal);
  }

  /** A host who has lost the link finds the room again in this browser, unless it was told to forget it. */
  private keep({ name }: Deployment): void {
    const known = hostedRooms(localStorage).some(({ room }) => room === this.pin.room);
    if (!known) remember(localStorage, { ...this.pin, name, seed: this.seed });
  }
}
