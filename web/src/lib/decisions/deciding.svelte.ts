// A visit to a decision: what is verified of it, and what this browser's account does in it. What
// is asked of the servers, believed and handed in, and when, is decided by the WASM module.

import { t as common } from '../../i18n/common';
import { Account } from './account';
import { decisionLink } from '../page/addresses';
import { Problem } from '../servers/api';
import { ended, systemClock, type Clock } from '../page/clock';
import {
  Deployment,
  DeviceKey,
  beginVisiting,
  loadCryptography,
  signMail,
  type DecisionMemory,
  type DecisionVisitor,
} from '../page/cryptography';
import {
  acquaintances,
  hasAnswered,
  placeOf,
  readOutcome,
  readReceipt,
  readResidual,
  readView,
  type Outcome,
  type Receipt,
  type Residual,
  type View,
} from './decision';
import { DecisionServer, type MailRequest } from './decisions';
import { WrongServers, operatorsOf, type Operator } from '../servers/deployment';
import { Refused, different, type Rejection } from '../servers/rejection';
import { readAnew } from './deciding/rechecking';
import { Visiting, errorOf, type Deed, type Here, type News } from './deciding/visiting';
import { post, senderOf, type Failure } from './asking/mailing';
import { StorageFull } from '../rooms/part/outbox';
import { reasonOf, type Reason } from '../servers/reason';
import { refill } from './stock';
import { LocalizedError } from '../servers/localized';

export type Stage =
  | { at: 'connecting' }
  | { at: 'verifying'; done: number; all: number }
  /** One server shows it, or more of it than before, and none else does so yet. */
  | { at: 'alone' }
  | { at: 'open' }
  | { at: 'insecure' }
  | { at: 'wrong-servers'; server: string }
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

const DOING: Record<Deed, Doing> = {
  accept: 'accepting',
  answer: 'answering',
  remove: 'removing',
  cancel: 'cancelling',
  verified: 'rechecking',
};

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
  /** The names of those who say that they belong to other servers than the link names. */
  contradicting = $state.raw<string[]>([]);
  /** Servers that do not open the result, with what they say. */
  refusals = $state.raw<{ party: number; server: string; detail: string }[]>([]);
  /** How far a recheck is. */
  checked = $state.raw<{ done: number; all: number } | null>(null);
  /** The answers that are on their way. */
  pending = $state.raw<number[] | null>(null);
  complaint = $state.raw<Reason | null>(null);
  account = $state.raw<Account | null>(null);
  /** The account under which this browser takes part: another one in every decision. */
  private acting = $state.raw('');

  /** The public key of the link's invitation. */
  private guest = $state.raw<string | null>(null);

  /** The own place among the people; `null` if there is none, or none yet. */
  readonly person = $derived(this.view && this.account ? this.own(this.view) : null);
  /** The place that the link's invitation is for. */
  readonly invitedAs = $derived(this.view && this.guest ? placeOf(this.view, this.guest) : null);

  /** What is to be done, the first thing now. */
  private wanted = $state.raw<Deed[]>([]);
  private comparing = $state(false);
  private readonly stopped = new AbortController();
  private operators: Operator<DecisionServer>[] = [];
  /** The servers' list as JSON, for the cryptography. */
  private raw = '';
  /** Where links lead to: this page's origin, if it is one by which the servers know themselves. */
  private entrance = '';
  private deployment: Deployment | null = null;
  private visiting: Visiting | null = null;
  /** How the visit stands, and what was read, as it was shown last. */
  private here = '';
  private read = '';
  /** What was read anew, since it was seen what is to be done then. */
  private isNew = false;
  /** The head of what this account has taken note of. */
  private noted = '';
  /** The complaint that the storage is full, until it is not any more. */
  private unkept: Reason | null = null;
  /** What waits until nothing is to be said to the others. */
  private readonly waiting = new Set<() => void>();

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
      const { servers, invitation } = this.place;
      const { raw, operators, entrance, contradicting } = await operatorsOf(
        servers,
        this.origin,
        (url) => new DecisionServer(url),
        this.clock,
      );
      this.guest =
        invitation === undefined ? null : DeviceKey.fromInvitation(invitation).publicKey();
      [this.raw, this.operators, this.deployment] = [raw, operators, new Deployment(raw)];
      [this.entrance, this.contradicting] = [entrance, contradicting];
      this.account = await Account.open(this.storage);
      if (!this.stopped.signal.aborted) this.begin(this.deployment, this.account);
    } catch (error) {
      this.fail(error);
    }
    await ended(this.stopped.signal);
  }

  private begin(deployment: Deployment, account: Account): void {
    const { clock, stopped } = this;
    const { decision, invitation } = this.place;
    const machine = beginVisiting(deployment, decision, invitation, account.key);
    const visiting = new Visiting(machine, this.servers(), clock, stopped.signal, {
      keep: (act) => this.keep(account, act),
      told: (news) => this.told(visiting, news),
      looked: () => this.looked(visiting),
    });
    this.visiting = visiting;
    visiting.happened((now) => machine.wake(now));
  }

  close(): void {
    this.stopped.abort();
  }

  /** What is done right now. */
  get doing(): Doing | null {
    const [deed] = this.wanted;
    return this.comparing ? 'rechecking' : deed ? DOING[deed] : null;
  }

  /** Whether answers are being given, or are as soon as something else is done. */
  get answering(): boolean {
    return this.wanted.includes('answer');
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
    if (error instanceof WrongServers) this.stage = { at: 'wrong-servers', server: error.server };
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

  /** Lets something be done with the memory, which is written down when this is over. */
  private async keep(account: Account, act: (memory: DecisionMemory) => void): Promise<boolean> {
    try {
      await account.withMemory(act);
      return true;
    } catch (error) {
      // A memory that cannot be read is not gone on with: it may say what was answered.
      if (!(error instanceof StorageFull)) this.fail(error);
      return false;
    }
  }

  private told(visiting: Visiting, news: News): void {
    switch (news.at) {
      case 'verifying':
        if (!this.view) this.stage = news;
        break;
      case 'alone':
        if (!this.view) this.stage = { at: 'alone' };
        break;
      case 'away':
        // Servers that are away for a while take nothing away from what has been verified.
        if (!this.view) {
          const { said } = news;
          this.fail(said ? new Problem(said.status, said.detail) : away());
        }
        break;
      case 'not-kept':
        this.notKept(new StorageFull(common.refusal.full));
        break;
      case 'refused':
        this.fail(new Refused(news.doubt));
        break;
      case 'read':
        this.show(visiting);
        this.readOn(visiting.machine);
        break;
      case 'failed':
        this.complaint = reasonOf(errorOf(news.failure), 'decide');
        break;
    }
  }

  /** What has been verified stays there if the storage is full by now. */
  private notKept(error: StorageFull): void {
    if (!this.view) return this.fail(error);
    this.complaint = this.unkept = reasonOf(error, 'decide');
  }

  /** Shows how the visit stands, if that is new. */
  private show(visiting: Visiting): void {
    const json = visiting.here();
    if (json === this.here) return;
    this.here = json;
    const here = JSON.parse(json) as Here;
    const server = (party: number) => this.names()[party] ?? `${party}`;
    this.acting = here.account;
    this.wanted = here.wanted;
    this.pending = here.pending;
    this.receipt = here.receipt === null ? null : readReceipt(JSON.stringify(here.receipt));
    this.outcome = here.outcome === null ? null : readOutcome(JSON.stringify(here.outcome));
    this.unresolved = here.unresolved;
    this.alarms = here.distrusted.map((one) => ({ ...one, server: server(one.party) }));
    this.refusals = here.refusals.map((one) => ({ ...one, server: server(one.party) }));
  }

  /** Shows what two servers show alike, and takes note of it. */
  private readOn(machine: DecisionVisitor): void {
    const [json, before] = [machine.view(), this.stage.at];
    if (json === undefined) return;
    if (this.complaint === this.unkept) this.complaint = null;
    this.unkept = null;
    if (json !== this.read) {
      this.read = json;
      const view = readView(json);
      const person = this.own(view);
      const residual = person === null ? undefined : machine.residual(person);
      this.residual = residual === undefined ? null : readResidual(residual);
      this.view = view;
    }
    this.stage = { at: 'open' };
    this.isNew = true;
    if (before !== 'open') void this.refill();
    if (this.view && this.view.head !== this.noted) void this.note(this.view);
  }

  /** After everything that happens. */
  private looked(visiting: Visiting): void {
    this.show(visiting);
    if (!this.wanted.includes('verified')) for (const done of this.waiting) done();
    if (!this.isNew) return;
    this.isNew = false;
    // What was on its way when this page was closed goes on.
    const part = this.view?.people[this.person ?? -1]?.part ?? 'invited';
    if (
      this.pending &&
      this.doing === null &&
      this.view?.stage === 'answering' &&
      !hasAnswered(part)
    )
      this.wish((machine, now) => machine.resume(now));
  }

  /** Takes note of the decision, and of who takes part with this account. */
  private async note(view: View): Promise<void> {
    const { account, place } = this;
    if (!account) return;
    const { decision, servers } = place;
    const { question, head } = view;
    this.noted = head;
    try {
      await account.know({ id: decision, servers, question, invitations: null, letters: null });
      const met = acquaintances(view, this.own(view));
      if (met.length > 0) await account.meet(met);
    } catch (error) {
      this.noted = '';
      if (error instanceof StorageFull) this.notKept(error);
    }
  }

  /** The own place: as who has accepted, or as the draft names this account. */
  private own(view: View): number | null {
    const place = view.owners.indexOf(this.acting);
    return place === -1 ? placeOf(view, this.acting) : place;
  }

  private async refill(): Promise<void> {
    const { deployment, account, clock } = this;
    const { signal } = this.stopped;
    // Who cannot be given keys now is given them at the next visit.
    if (deployment && account)
      await refill(deployment, this.servers(), account, signal, undefined, clock).catch(
        () => undefined,
      );
  }

  /**
   * Asks for something that ends with a record in the chain, and is done in its turn; what goes
   * wrong is said on the page. What is asked for already is not asked for twice.
   */
  private wish(ask: (machine: DecisionVisitor, now: number) => boolean): void {
    const { visiting } = this;
    visiting?.happened((now) => {
      if (ask(visiting.machine, now)) this.complaint = null;
    });
  }

  /** Takes the place of the invitation, or the one that names this account. */
  accept(): void {
    this.wish((machine, now) => machine.accept(now));
  }

  /** Gives one answer for each ballot. They cannot be changed from here on. */
  answer(answers: number[]): void {
    this.wish((machine, now) => machine.answer(now, Uint8Array.from(answers)));
  }

  remove(person: number): void {
    this.wish((machine, now) => machine.remove(now, person));
  }

  cancel(): void {
    this.wish((machine, now) => machine.cancel(now));
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
   * Whether everything holds.
   */
  async recheck(): Promise<boolean> {
    const { deployment, account, view } = this;
    if (!deployment || !account || !view || this.doing !== null) return false;
    [this.comparing, this.complaint] = [true, null];
    try {
      await this.compare(deployment, account, view);
    } catch (error) {
      if (error instanceof Refused) this.fail(error);
      else this.complaint = reasonOf(error, 'decide');
      return false;
    } finally {
      [this.comparing, this.checked] = [false, null];
    }
    const place = this.person ?? -1;
    const person = this.view?.people[place];
    const takesPart = person && person.part !== 'removed' && this.view?.owners[place];
    if (takesPart && !person.verified) {
      this.wish((machine, now) => machine.sayVerified(now));
      await this.said();
    }
    return true;
  }

  /** Resolves once nothing is to be said to the others any more, or the visit is over. */
  private async said(): Promise<void> {
    if (!this.wanted.includes('verified')) return;
    const said = new Promise<void>((resolve) => this.waiting.add(resolve));
    await Promise.race([said, ended(this.stopped.signal)]);
    this.waiting.clear();
  }

  /** Reads and verifies everything anew; throws if anything differs from what is shown. */
  private async compare(deployment: Deployment, account: Account, view: View): Promise<void> {
    const [last, { outcome }] = [view.records - 1, this];
    const before = this.visiting?.machine.digest(last);
    const anew = await readAnew(
      beginVisiting(deployment, this.place.decision, undefined, account.key),
      this.servers(),
      last,
      (done, all) => (this.checked = { done, all }),
      this.clock,
      this.stopped.signal,
    );
    // Of what two servers showed, one may be away and the third one late.
    if (anew.digest === undefined) throw away();
    if (anew.digest !== before || JSON.stringify(anew.outcome) !== JSON.stringify(outcome))
      throw new Refused(different);
  }

  /** Everything that is needed to check the decision without any server. */
  archive(): string {
    return this.visiting?.machine.archive(this.raw) ?? '';
  }
}

const away = (): LocalizedError => new LocalizedError(common.refusal.away);
