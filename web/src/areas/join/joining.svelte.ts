// A join link: who has it asks by name, and its creator says who takes part. Nothing that a server
// shows is believed unless whoever it names has signed it.

import { t } from './messages';
import { Account, type Joining as Kept } from '../../lib/decisions/account';
import { joinLink } from '../../lib/page/addresses';
import { Problem, toBase64 } from '../../lib/servers/api';
import { systemClock, type Clock } from '../../lib/page/clock';
import {
  Deployment,
  DeviceKey,
  JoinLink,
  loadCryptography,
  lookAgain,
} from '../../lib/page/cryptography';
import { Canvass } from '../../lib/decisions/canvass';
import { DecisionServer } from '../../lib/decisions/decisions';
import { WrongServers, operatorsOf } from '../../lib/servers/deployment';
import { refill } from '../../lib/decisions/stock';
import { reasonOf, type Reason } from '../../lib/servers/reason';
import { count, list, optional, record, text, type Of } from '../../lib/servers/shape';
import { LocalizedError } from '../../lib/servers/localized';

const aboutShape = record({ question: text, creator: text, until: count });
const askingShape = list(record({ name: text, account: text, time: count, digits: text }));
const saidShape = record({
  number: count,
  admitted: list(text),
  refused: list(text),
  decision: optional(text),
});

/** Somebody who asks. */
export type Asking = Of<typeof askingShape>[number];
/** What the creator says of the requests. */
export type Said = Of<typeof saidShape>;

export type Stage =
  | { at: 'connecting' | 'insecure' | 'unknown' }
  | { at: 'wrong-servers'; server: string }
  | { at: 'failed'; reason: Reason }
  | { at: 'open' };

/** What a route has matched. */
export interface Place {
  gathering: string;
  servers: string;
  secret: string;
}

/** What is known of a link before anything was said. */
export const fresh = (place: Pick<Place, 'gathering' | 'servers'>): Kept => ({
  id: place.gathering,
  servers: place.servers,
  name: null,
  plan: null,
  address: null,
  number: 0,
  admitted: [],
  refused: [],
});

export class Joining {
  stage = $state.raw<Stage>({ at: 'connecting' });
  about = $state.raw<Of<typeof aboutShape> | null>(null);
  account = $state.raw<Account | null>(null);
  /** The names of those who say that they belong to other servers than the link names. */
  contradicting = $state.raw<string[]>([]);
  kept = $state.raw<Kept | null>(null);
  /** Of the creator: who asks, the earliest first. */
  asking = $state.raw<Asking[]>([]);
  /** The latest that the creator has said. */
  said = $state.raw<Said | null>(null);
  doing = $state(false);
  complaint = $state.raw<Reason | null>(null);
  /** Whether this browser has made the link. */
  readonly creates = $derived(
    this.account !== null && this.account.key.publicKey() === this.about?.creator,
  );
  /** The digits of the own request. */
  digits = $state('');
  /** What the own request has come to. */
  readonly answer = $derived.by(() => {
    const own = this.own?.publicKey() ?? '';
    if (this.said?.admitted.includes(own)) return this.said.decision ? 'begun' : 'admitted';
    if (this.said?.refused.includes(own)) return 'refused';
    if (this.said?.decision) return 'without';
    return this.kept?.name ? 'asked' : null;
  });

  private own = $state.raw<DeviceKey | null>(null);
  private link: JoinLink | null = null;
  private deployment: Deployment | null = null;
  private servers: DecisionServer[] = [];
  private canvass: Canvass | null = null;
  private entrance = '';
  private readonly stopped = new AbortController();

  constructor(
    readonly place: Place,
    private readonly origin = globalThis.location?.origin ?? '',
    private readonly storage = globalThis.localStorage,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Reads and follows what is asked and said until {@link Joining.close}. */
  async open(): Promise<void> {
    if (!globalThis.isSecureContext) return void (this.stage = { at: 'insecure' });
    try {
      await this.connect();
      this.stage = { at: 'open' };
      while (!this.stopped.signal.aborted) {
        await this.look().catch(() => undefined);
        await this.clock.sleep(lookAgain(), this.stopped.signal);
      }
    } catch (error) {
      if (this.stopped.signal.aborted) return;
      if (error instanceof WrongServers) this.stage = { at: 'wrong-servers', server: error.server };
      else if (error instanceof Problem && error.status === 404) this.stage = { at: 'unknown' };
      else this.stage = { at: 'failed', reason: reasonOf(error, 'decide') };
    }
  }

  close(): void {
    this.stopped.abort();
  }

  private async connect(): Promise<void> {
    await loadCryptography();
    const { gathering, servers, secret } = this.place;
    const at = (url: string) => new DecisionServer(url);
    const found = await operatorsOf(servers, this.origin, at, this.clock);
    const { raw, operators, entrance } = found;
    this.contradicting = found.contradicting;
    this.entrance = entrance;
    this.servers = operators.map(({ api }) => api);
    this.deployment = new Deployment(raw);
    this.account = await Account.open(this.storage);
    const canvass = new Canvass(operators, this.clock, this.stopped.signal);
    const shown = await canvass.show(gathering);
    const link = JoinLink.read(this.deployment, gathering, JSON.stringify(shown));
    if (!link.isOpenedBy(secret)) throw new LocalizedError(t.incomplete);
    [this.link, this.canvass] = [link, canvass];
    this.about = aboutShape(JSON.parse(link.about()));
    this.kept = this.account.links().find(({ id }) => id === gathering) ?? fresh(this.place);
    this.own = link.account(this.account.key);
    this.digits = link.digits(this.own);
    if (this.kept.name) void this.hand(this.kept.name).catch(() => undefined);
  }

  private now(): bigint {
    return BigInt(Math.floor(this.clock.now() / 1000));
  }

  /** Reads what was said, and, as the creator, what is asked. */
  private async look(): Promise<void> {
    const { link, account, canvass } = this;
    if (!link || !account || !canvass) return;
    const { gathering } = this.place;
    const shown = await canvass.show(gathering);
    this.hear(shown.flatMap(({ word }) => (word === null ? [] : [word])));
    if (!this.creates) return;
    const time = this.now();
    const signature = link.signReading(account.key, time);
    // Each server keeps its own list: what one passes over, another one shows.
    const all = await canvass.requests(gathering, time, signature);
    this.asking = askingShape(JSON.parse(link.requests(JSON.stringify(all))));
  }

  /** Takes in what the creator has said, as servers show it. */
  private hear(words: string[]): void {
    const said = this.link?.hear(JSON.stringify(words));
    if (said !== undefined) this.said = saidShape(JSON.parse(said));
  }

  /** Asks to take part by this name. */
  async ask(name: string): Promise<void> {
    await this.act(async () => {
      await this.hand(name);
      await this.keep({ name });
    });
  }

  private async hand(name: string): Promise<void> {
    const { link, own, deployment, servers, canvass } = this;
    if (!link || !own || !deployment || !canvass) return;
    const request = link.ask(own, this.place.secret, name, this.now());
    await canvass.take(this.place.gathering, toBase64(request));
    const { signal } = this.stopped;
    // With a key at the servers the place is taken without another visit.
    void refill(deployment, servers, { key: own }, signal, 1, this.clock).catch(() => undefined);
  }

  /** As the creator: takes people in, or does not, or takes that back. */
  async say(change: (kept: Kept) => Pick<Kept, 'admitted' | 'refused'>): Promise<void> {
    await this.act(async () => {
      if (!this.kept) return;
      await this.publish(change(this.kept), null);
    });
  }

  /** As the creator: the decision has begun. */
  async begun(decision: string): Promise<void> {
    if (this.kept) await this.publish(this.kept, decision);
  }

  private async publish(
    { admitted, refused }: Pick<Kept, 'admitted' | 'refused'>,
    decision: string | null,
  ): Promise<void> {
    const { link, account, kept, canvass } = this;
    if (!link || !account || !kept || !canvass) return;
    const number = link.nextNumber(kept.number);
    const accounts = admitted.map(({ account: one }) => one);
    const saying = { kept: kept.number, admitted: accounts, refused, decision };
    const word = toBase64(link.say(account.key, JSON.stringify(saying)));
    // Written down first: a later word must have a higher number.
    await this.keep({ number, admitted, refused });
    await canvass.say(this.place.gathering, word);
    this.hear([word]);
  }

  private async keep(change: Partial<Kept>): Promise<void> {
    if (!this.kept || !this.account) return;
    this.kept = { ...this.kept, ...change };
    await this.account.keepLink(this.kept);
  }

  private async act(act: () => Promise<void>): Promise<void> {
    if (this.doing) return;
    [this.doing, this.complaint] = [true, null];
    try {
      await act();
    } catch (error) {
      this.complaint = reasonOf(error, 'join');
    } finally {
      this.doing = false;
    }
  }

  /** The digits of somebody's request, if it is still shown. */
  digitsOf(account: string): string {
    return this.asking.find((one) => one.account === account)?.digits ?? '';
  }

  /** The link, to be shared. */
  address(): string {
    const { gathering, servers, secret } = this.place;
    return joinLink(this.entrance, gathering, servers, secret);
  }
}
