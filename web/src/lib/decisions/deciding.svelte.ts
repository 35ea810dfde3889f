// A visit to a decision: what is verified of it, and what this browser's account does in it.

import { t as common } from '../../i18n/common';
import { t } from '../../i18n/decision';
import { Account } from './account';
import { decisionLink } from '../page/addresses';
import { Problem, readServers } from '../servers/api';
import { secureRandom, systemClock, type Clock } from '../page/clock';
import {
  DecisionVisit,
  Deployment,
  DeviceKey,
  addToReceipt,
  decisionArchive,
  loadCryptography,
  signMail,
} from '../page/cryptography';
import {
  acquaintances,
  hasAnswered,
  placeOf,
  readReceipt,
  readResidual,
  type Outcome,
  type Receipt,
  type Residual,
  type View,
} from './decision';
import { DecisionServer, type MailRequest } from './decisions';
import { WrongServers, operatorsOf, type Operator } from '../servers/deployment';
import { different, type Rejection } from '../servers/rejection';
import { handIn, handInAtFirst } from './deciding/handing';
import { Turns } from './deciding/turns.svelte';
import { post, senderOf, type Failure } from './asking/mailing';
import { freshKey, refill } from './onetime';
import { StorageFull } from '../rooms/part/outbox';
import { Reading, Refused } from './reading';
import { reasonOf, type Reason } from '../servers/reason';
import { remember } from './remembering';
import { LocalizedError } from '../servers/localized';

export type Stage =
  | { at: 'connecting' }
  | { at: 'verifying'; done: number; all: number }
  /** One server shows it, or more of it than before, and none else does so yet. */
  | { at: 'alone' }
  | { at: 'open' }
  | { at: 'insecure' }
  | { at: 'wrong-servers' }
  | { at: 'unknown' }
  /** `sent`: answers of this account may have left this browser before. */
  | { at: 'refused'; doubt: Rejection; sent: boolean }
  | { at: 'failed'; reason: Reason };

/** A server that is not believed any more. */
export interface Distrust {
  party: number;
  /** The operator's name, which another one may have, too. */
  server: string;
  doubt: Rejection;
}

/** What this browser does right now. */
export type Doing = 'accepting' | 'answering' | 'rechecking' | 'removing' | 'cancelling';

/** What a route has matched. */
export interface Place {
  decision: string;
  servers: string;
  invitation: string | undefined;
}

/** Seconds that a server is asked to wait for news; less than it may take to answer. */
const WAIT = 20;
/** Milliseconds between two looks where something is awaited. */
const PAUSE = 1_500;
/** How often somebody else's record may come first. */
const ATTEMPTS = 60;

export class Deciding {
  stage = $state.raw<Stage>({ at: 'connecting' });
  view = $state.raw<View | null>(null);
  outcome = $state.raw<Outcome | null>(null);
  /** Why there will be no result of what the servers have opened. */
  unresolved = $state.raw<Rejection | null>(null);
  receipt = $state.raw<Receipt | null>(null);
  /** What could be learned of the own answers, if they were given now. */
  residual = $state.raw<Residual | null>(null);
  alarms = $state.raw<Distrust[]>([]);
  /** Servers that do not open the result, with what they say. */
  refusals = $state.raw<{ party: number; server: string; detail: string }[]>([]);
  /** How far a recheck is. */
  checked = $state.raw<{ done: number; all: number } | null>(null);
  /** The answers that are on their way. */
  pending = $state.raw<number[] | null>(null);
  complaint = $state.raw<Reason | null>(null);
  account = $state.raw<Account | null>(null);
  /** The account under which this browser takes part: another one in every decision. */
  private acting = $state.raw<DeviceKey | null>(null);

  /** The public key of the link's invitation. */
  private guest = $state.raw<string | null>(null);

  /** The own place among the people; `null` if there is none, or none yet. */
  readonly person = $derived(this.view && this.account ? this.own(this.view) : null);
  /** The place that the link's invitation is for. */
  readonly invitedAs = $derived(this.view && this.guest ? placeOf(this.view, this.guest) : null);

  /** An acceptance is shown before it is over: answers that are given by then wait for that. */
  private readonly turns = new Turns<Doing>();
  private readonly stopped = new AbortController();
  private operators: Operator<DecisionServer>[] = [];
  /** The servers' list as JSON, for the cryptography. */
  private raw = '';
  /** Where links lead to: this page's origin, if it is one by which the servers know themselves. */
  private entrance = '';
  private deployment: Deployment | null = null;
  private reading: Reading | null = null;
  /** One thing after the other: what is read and what is written is about one state. */
  private turn: Promise<unknown> = Promise.resolve();
  /** The complaint that the storage is full, until it is not any more. */
  private unkept: Reason | null = null;
  private looks = 0;

  constructor(
    readonly place: Place,
    private readonly origin = globalThis.location?.origin ?? '',
    private readonly storage = globalThis.localStorage,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Reads and follows the decision until {@link Deciding.close}. */
  async open(): Promise<void> {
    if (!globalThis.isSecureContext) return void (this.stage = { at: 'insecure' });
    try {
      await loadCryptography();
      const { decision, servers, invitation } = this.place;
      const { raw, operators } = await operatorsOf(
        servers,
        this.origin,
        (url) => new DecisionServer(url),
      );
      this.guest =
        invitation === undefined ? null : DeviceKey.fromInvitation(invitation).publicKey();
      [this.raw, this.operators, this.deployment] = [raw, operators, new Deployment(raw)];
      const urls = readServers(raw).servers.map(({ url }) => url.replace(/\/+$/, ''));
      this.entrance = urls.includes(this.origin) ? this.origin : (urls[0] ?? this.origin);
      this.account = await Account.open(this.storage);
      this.reading = new Reading(
        new DecisionVisit(this.deployment, decision),
        decision,
        this.servers(),
        this.deployment.believed(),
      );
      await this.follow();
    } catch (error) {
      this.fail(error);
    }
  }

  close(): void {
    this.stopped.abort();
  }

  /** What is done right now. */
  get doing(): Doing | null {
    return this.turns.now;
  }

  /** Whether answers are being given, or are as soon as something else is done. */
  get answering(): boolean {
    return this.turns.has('answering');
  }

  /** The servers by party. */
  private servers(): DecisionServer[] {
    return this.operators.map(({ api }) => api);
  }

  /** The operators' names by party. */
  names(): string[] {
    return this.operators.map(({ name }) => name);
  }

  private fail(error: unknown): void {
    if (this.stopped.signal.aborted) return;
    if (error instanceof WrongServers) this.stage = { at: 'wrong-servers' };
    else if (error instanceof Refused)
      this.stage = {
        at: 'refused',
        doubt: error.doubt,
        sent: this.account?.mayHaveAnswered(this.place.decision) ?? false,
      };
    else if (error instanceof Problem && error.status === 404) this.stage = { at: 'unknown' };
    else this.stage = { at: 'failed', reason: reasonOf(error, 'decide') };
    // What was refused once is not gone on with because a later look is better.
    this.stopped.abort();
  }

  private async follow(): Promise<void> {
    let refilled = false;
    while (!this.stopped.signal.aborted) {
      try {
        await this.exclusively(() => this.readOn());
        if (this.complaint === this.unkept) this.complaint = null;
        this.unkept = null;
      } catch (error) {
        // Servers that are away for a while take nothing away from what has been verified, nor does
        // a storage that is full by now.
        if (error instanceof Refused || !this.view) throw error;
        if (error instanceof StorageFull) this.complaint = this.unkept = reasonOf(error, 'decide');
      }
      if (this.stopped.signal.aborted) return;
      if (this.stage.at === 'open') {
        if (!refilled) void this.refill();
        refilled = true;
        this.resume();
      }
      await this.news();
    }
  }

  private exclusively<T>(act: () => Promise<T>): Promise<T> {
    const next = this.turn.then(act);
    this.turn = next.catch(() => undefined);
    return next;
  }

  /** Reads on; what a second server shows as well is taken note of and shown. */
  private async readOn(): Promise<void> {
    const { reading, account } = this;
    if (!reading || !account) return;
    const before = reading.records.length;
    await reading.on((done, all) => {
      if (!this.view) this.stage = { at: 'verifying', done, all };
    });
    if (this.stopped.signal.aborted) return;
    this.warn(reading);
    this.refusals = [...reading.refusals].map(([party, detail]) => ({
      party,
      server: this.names()[party] ?? `${party}`,
      detail,
    }));
    const view = reading.view();
    if (!view) {
      if (!this.view) this.stage = { at: 'alone' };
      return;
    }
    if (reading.records.length !== before || view.head !== this.view?.head) {
      try {
        await this.remember(reading, account, view);
      } catch (error) {
        // What this browser saw before, one server shows, and the second one has to catch up yet.
        const behind = error instanceof Refused && error.doubt.finding.kind === 'shorter';
        if (!behind || !reading.hasMore()) throw error;
        return void (this.view ?? (this.stage = { at: 'alone' }));
      }
    }
    if (view.stage === 'closed') {
      this.outcome ??= reading.outcome();
      this.unresolved = reading.unresolved;
      this.warn(reading);
    }
    this.view = view;
    this.stage = { at: 'open' };
    await this.collect();
  }

  /** Asks the servers that have not signed the receipt to do so. */
  private async collect(): Promise<void> {
    const { receipt, deployment } = this;
    if (!receipt || !deployment || receipt.signatures.length >= this.servers().length) return;
    let whole = JSON.stringify(receipt);
    for (const [party, server] of this.servers().entries()) {
      if (receipt.signatures.some((word) => word.party === party)) continue;
      const word = await server.receipt(receipt.decision, receipt.number).catch(() => null);
      if (word === null) continue;
      try {
        whole = addToReceipt(deployment, whole, word);
      } catch {
        // A server that signs wrongly has not signed.
      }
    }
    this.receipt = readReceipt(whole);
  }

  private warn({ distrusted }: Reading): void {
    this.alarms = [...distrusted].map(([party, doubt]) => ({
      party,
      server: this.names()[party] ?? `${party}`,
      doubt,
    }));
  }

  private async remember(reading: Reading, account: Account, view: View): Promise<void> {
    const { visit } = reading;
    const { decision, servers } = this.place;
    const acting = (this.acting ??= visit.account(account.key) ?? account.key);
    const { receipt, pending } = await remember(visit, account, acting, decision);
    this.pending = pending;
    if (receipt && receipt.number !== this.receipt?.number) this.receipt = receipt;
    const person = this.own(view);
    const residual = person === null ? undefined : visit.residual(person);
    this.residual = residual === undefined ? null : readResidual(residual);
    await account.know({
      id: decision,
      servers,
      question: view.question,
      invitations: null,
      letters: null,
    });
    const met = acquaintances(view, person);
    if (met.length > 0) await account.meet(met);
  }

  /** The own place: as who has accepted, or as the draft names this account. */
  private own(view: View): number | null {
    const key = this.acting?.publicKey() ?? '';
    const place = view.owners.indexOf(key);
    return place === -1 ? placeOf(view, key) : place;
  }

  /** Waits until a server has something new, each in turn. */
  private async news(): Promise<void> {
    const { reading } = this;
    const signal = this.stopped.signal;
    const trusted = this.servers().filter((_, party) => !reading?.distrusted.has(party));
    const server = trusted[this.looks++ % Math.max(1, trusted.length)];
    if (!reading?.isAgreed() || !server) return this.clock.sleep(PAUSE, signal);
    const awaiting = server.records(
      this.place.decision,
      reading.records.length,
      reading.opened(),
      WAIT,
      signal,
    );
    const answered = await awaiting.then(
      () => true,
      () => false,
    );
    // A server that answers at once and has nothing is not asked without a pause.
    await this.clock.sleep(answered ? PAUSE / 3 : PAUSE, signal);
  }

  private async refill(): Promise<void> {
    const { deployment, account } = this;
    // Who cannot be given keys now is given them at the next visit.
    if (deployment && account)
      await refill(deployment, this.servers(), account, this.stopped.signal).catch(() => undefined);
  }

  /** What was on its way when this page was closed goes on. */
  private resume(): void {
    if (this.pending && this.doing === null && this.view?.stage === 'answering')
      void this.answer(this.pending);
  }

  private now(): bigint {
    return BigInt(Math.floor(this.clock.now() / 1000));
  }

  /**
   * Does something that ends with a record in the chain, in its turn; what goes wrong is said on
   * the page. Returns `false` at once if that is asked for already.
   */
  private act(
    doing: Doing,
    make: Make,
    done: (view: View) => boolean,
    takers: Takers = 'all',
  ): Promise<boolean> {
    return this.turns.take(doing, async () => {
      this.complaint = null;
      try {
        await this.exclusively(() => this.post(make, done, takers));
      } catch (error) {
        this.said(error);
      }
    });
  }

  private said(error: unknown): void {
    if (error instanceof Refused) this.fail(error);
    else this.complaint = reasonOf(error, 'decide');
  }

  /** Hands in a record, again after whatever comes first, until two servers show it. */
  private async post(make: Make, done: (view: View) => boolean, takers: Takers): Promise<void> {
    const signal = this.stopped.signal;
    for (let attempt = 0; attempt < ATTEMPTS && !signal.aborted; attempt++) {
      await this.readOn();
      if (this.view && done(this.view)) return;
      const { reading, account } = this;
      if (reading?.isAgreed() && account) {
        const signed = await make(reading, account);
        const { decision } = this.place;
        if (takers === 'all') await handIn(this.servers(), decision, signed, this.watched(reading));
        else await handInAtFirst(this.servers(), decision, signed);
      }
      // Who met somebody else comes back at another time than the other one.
      await this.clock.sleep(PAUSE / 5 + secureRandom() * PAUSE, signal);
    }
    if (!signal.aborted) throw new LocalizedError(t.busy);
  }

  private watched(reading: Reading) {
    const before = reading.records.length;
    return {
      moved: async () => {
        await this.readOn();
        return reading.records.length > before || this.stopped.signal.aborted;
      },
      pause: () => this.clock.sleep(PAUSE / 3, this.stopped.signal),
    };
  }

  /** Takes the place of the invitation, or the one that names this account. */
  async accept(): Promise<void> {
    const { deployment, invitedAs } = this;
    let key: Uint8Array | null = null;
    const make: Make = async ({ visit }, account) => {
      key ??= await freshKey(
        deployment as Deployment,
        this.servers(),
        this.acting ?? account.key,
        { threshold: this.view?.threshold ?? 0, deadline: this.view?.deadline },
        this.clock,
        this.stopped.signal,
      );
      return visit.accept(
        this.acting ?? account.key,
        key,
        invitedAs === null ? undefined : this.place.invitation,
        this.now(),
      );
    };
    const own = (view: View) => view.owners.includes(this.acting?.publicKey() ?? '');
    await this.act('accepting', make, own);
  }

  /** Gives one answer for each ballot. They cannot be changed from here on. */
  async answer(answers: number[]): Promise<void> {
    const make: Make = ({ visit }, account) =>
      account.withMemory((memory) =>
        visit.answer(this.acting ?? account.key, Uint8Array.from(answers), memory, this.now()),
      );
    const arrived = (view: View) =>
      hasAnswered(view.people[this.own(view) ?? -1]?.part ?? 'invited');
    if (await this.act('answering', make, arrived))
      this.pending = this.account?.isPending(this.place.decision) ? answers : null;
  }

  async remove(person: number): Promise<void> {
    const make: Make = ({ visit }, account) => visit.remove(account.key, person, this.now());
    await this.act('removing', make, (view) => view.people[person]?.part === 'removed', 'first');
  }

  async cancel(): Promise<void> {
    const make: Make = ({ visit }, account) => visit.cancel(account.key, this.now());
    await this.act('cancelling', make, ({ stage }) => stage === 'cancelled', 'first');
  }

  /** Somebody's link. */
  link(invitation: string | null): string {
    return decisionLink(this.entrance, this.place.decision, this.place.servers, invitation);
  }

  /**
   * The server that sends e-mail; `null` if none does, `undefined` if one that does not answer may.
   */
  sender(): Promise<DecisionServer | null | undefined> {
    return senderOf(this.servers());
  }

  /**
   * Has somebody sent their link by e-mail, and takes note of it. Why it was not sent; `null` if it
   * was.
   */
  async send(
    server: DecisionServer,
    { person, address, link, locale }: Omit<MailRequest, 'signature'>,
  ): Promise<Failure | null> {
    const { account, deployment } = this;
    const { decision } = this.place;
    if (!account || !deployment) return 'away';
    const signature = signMail(deployment, account.key, decision, person, address, link, locale);
    const failure = await post(
      server,
      decision,
      { person, address, link, locale, signature },
      this.clock,
      this.stopped.signal,
    );
    const before = account.known().find(({ id }) => id === decision)?.letters?.[person]?.sent ?? 0;
    await account.write(decision, person, {
      address,
      sent: failure === null ? before + 1 : before,
    });
    return failure;
  }

  /**
   * Reads and verifies everything anew, and says so to the others where this account takes part.
   */
  async recheck(): Promise<boolean> {
    const { deployment } = this;
    let holds = false;
    if (deployment)
      await this.turns.take('rechecking', async () => {
        this.complaint = null;
        try {
          await this.compare(deployment);
          holds = true;
        } catch (error) {
          this.said(error);
        }
      });
    if (!holds) return false;
    const person = this.view?.people[this.person ?? -1];
    if (
      person &&
      !person.verified &&
      person.part !== 'removed' &&
      this.view?.owners[this.person ?? -1]
    ) {
      const make: Make = ({ visit }, account) =>
        visit.sayVerified(this.acting ?? account.key, this.now());
      await this.act(
        'rechecking',
        make,
        (view) => view.people[this.own(view) ?? -1]?.verified ?? false,
        'first',
      );
    }
    return true;
  }

  /** Reads and verifies everything anew; throws if anything differs from what is shown. */
  private async compare(deployment: Deployment): Promise<void> {
    const { decision } = this.place;
    const anew = new Reading(
      new DecisionVisit(deployment, decision),
      decision,
      this.servers(),
      deployment.believed(),
    );
    try {
      await anew.on((done, all) => (this.checked = { done, all }));
      const known = this.reading?.records.length ?? 0;
      // Of what two servers showed, one may be away and the third one late.
      if (anew.records.length < known) throw new LocalizedError(common.refusal.away);
      const same = anew.visit.digest(known - 1) === this.reading?.visit.digest(known - 1);
      if (!same || JSON.stringify(anew.outcome()) !== JSON.stringify(this.outcome))
        throw new Refused(different);
    } finally {
      anew.free();
      this.checked = null;
    }
  }

  /** Everything that is needed to check the decision without any server. */
  archive(): string {
    return decisionArchive(
      this.raw,
      JSON.stringify(this.reading?.records ?? []),
      this.reading?.proof() ?? '[]',
    );
  }
}

type Make = (reading: Reading, account: Account) => Promise<Uint8Array> | Uint8Array;

/** Who takes a record in: any server, which holds it if it is not the first, or that one alone. */
type Takers = 'all' | 'first';
