// Reads a decision's chain and verifies every record that two servers show alike. What one shows
// alone is put aside until a second one shows it, or two show something else: one server can
// neither
// have a record believed nor keep this device from going on with the others.

import { t } from '../../i18n/common';
import { systemClock } from '../page/clock';
import type { DecisionVisit } from '../page/cryptography';
import { Problem } from '../servers/api';
import type { DecisionInfo, DecisionServer, Opening } from './decisions';
import { LocalizedError } from '../servers/localized';
import { readOutcome, readView, type Outcome, type View } from './decision';
import { different, rejectionOf, type Rejection } from '../servers/rejection';

/** Called as the work goes on. */
export type Progress = (done: number, all: number) => void;

/** What was found is not what honest servers show: nothing may be answered. */
export class Refused extends Error {
  constructor(readonly doubt: Rejection) {
    super(doubt.detail);
  }
}

/** Records after which the proofs read so far are verified; the page repaints in between. */
const CHUNK = 8;
/** Records that a chain may have: what a server says beyond is not believed. */
const MOST = 1_000;

/** What verifies the records. */
type Verifier = Pick<
  DecisionVisit,
  'read' | 'verify' | 'view' | 'digest' | 'result' | 'finding' | 'free'
>;
/** What is asked of a server. */
type Source = Pick<DecisionServer, 'decision' | 'records'>;

export class Reading<V extends Verifier = DecisionVisit> {
  /** The records that two servers have shown and the visit has read, in base64url. */
  readonly records: string[] = [];
  /** What each server shows beyond those, by party: nobody believes it yet. */
  private readonly tails = new Map<number, string[]>();
  /** What each server says that the servers have opened. */
  private readonly openings = new Map<number, Opening[]>();
  /**
   * Servers that have shown or opened something that does not verify, with the reason. They are not
   * asked again.
   */
  readonly distrusted = new Map<number, Rejection>();
  /** Why servers do not open what is closed, in English, by party. */
  readonly refusals = new Map<number, string>();
  /**
   * Why there will be no result, once two servers show openings that make none: then one of the two
   * is honest.
   */
  unresolved: Rejection | null = null;
  /** The openings of which the result came. */
  private proven: Opening[] = [];
  /**
   * What was found in openings that make no result, by their JSON: trying them again takes long and
   * changes nothing.
   */
  private readonly tried = new Map<string, Rejection>();
  constructor(
    /** Nothing is read in it yet. */
    readonly visit: V,
    private readonly id: string,
    private readonly servers: Source[],
    /** Servers that must show the same. */
    private readonly believed: number,
    private readonly repaint: () => Promise<void> = () =>
      systemClock.sleep(0, new AbortController().signal),
  ) {}

  /** What was read; `null` before two servers have shown the first record. */
  view(): View | null {
    const view = this.isAgreed() ? this.visit.view() : undefined;
    return view === undefined ? null : readView(view);
  }

  isAgreed(): boolean {
    return this.records.length > 0;
  }

  /** Whether a server shows more than two have shown so far. */
  hasMore(): boolean {
    return [...this.tails].some(([party, tail]) => tail.length > 0 && !this.distrusted.has(party));
  }

  /** How many openings the best server shows. */
  opened(): number {
    return Math.max(0, ...[...this.openings.values()].map((openings) => openings.length));
  }

  /**
   * Reads on and verifies. Throws {@link Refused} if what the servers show does not hold, {@link
   * Problem} with 404 if none knows the decision, another error if none answers.
   */
  async on(progress: Progress): Promise<void> {
    const infos = await this.ask();
    this.refusals.clear();
    for (const [party, { refusal }] of infos)
      if (refusal !== null) this.refusals.set(party, refusal);
    for (const [party, info] of infos) {
      const all = Math.min(info.records, MOST);
      if (all <= this.records.length && info.stage !== 'closed' && info.stage !== 'done') continue;
      await this.readFrom(party);
      await this.settle(all, progress);
    }
    this.verify();
    this.compare(infos);
  }

  /** How the decision stands at the servers that answer. */
  private async ask(): Promise<[number, DecisionInfo][]> {
    const answers = await Promise.allSettled(
      this.servers.map((server) => server.decision(this.id)),
    );
    const known = answers.flatMap((answer, party): [number, DecisionInfo][] =>
      answer.status === 'fulfilled' && !this.distrusted.has(party) ? [[party, answer.value]] : [],
    );
    if (known.length > 0) return known;
    const [distrust] = this.distrusted.values();
    if (distrust !== undefined) throw new Refused(distrust);
    const failures = answers.flatMap((answer) =>
      answer.status === 'rejected' ? [answer.reason as unknown] : [],
    );
    throw (
      failures.find((failure) => failure instanceof Problem && failure.status === 404) ??
      failures[0]
    );
  }

  /** Puts aside what a server shows beyond what two have shown. */
  private async readFrom(party: number): Promise<void> {
    const server = this.servers[party];
    const tail = this.tails.get(party) ?? [];
    this.tails.set(party, tail);
    while (server) {
      const page = await server
        .records(this.id, this.records.length + tail.length)
        .catch(() => null);
      if (!page) return;
      this.openings.set(party, page.openings);
      tail.push(...page.records.slice(0, MOST - this.records.length - tail.length));
      if (page.records.length === 0 || this.records.length + tail.length >= MOST) return;
    }
  }

  /** Takes in what two servers show alike, one record after another. */
  private async settle(all: number, progress: Progress): Promise<void> {
    for (;;) {
      const next = this.next();
      if (next === null) return;
      const { record, showing } = next;
      try {
        this.visit.read(record);
      } catch (error) {
        for (const party of showing) this.distrusted.set(party, this.doubt(error));
        return;
      }
      this.records.push(record);
      for (const [party, tail] of this.tails) this.pass(party, tail, record);
      progress(this.records.length, Math.max(all, this.records.length));
      if (this.records.length % CHUNK === 0) this.verify();
      await this.repaint();
    }
  }

  /** The record that two servers show next, with those servers; `null` if there is none yet. */
  private next(): { record: string; showing: number[] } | null {
    const first = [...this.tails].filter(
      ([party, tail]) => tail.length > 0 && !this.distrusted.has(party),
    );
    for (const [, [record]] of first) {
      const showing = first.filter(([, tail]) => tail[0] === record).map(([party]) => party);
      if (record !== undefined && showing.length >= this.believed) return { record, showing };
    }
    return null;
  }

  /** Who shows something else in the place of what two show is not asked any more. */
  private pass(party: number, tail: string[], record: string): void {
    const shown = tail.shift();
    if (shown === undefined || shown === record || this.distrusted.has(party)) return;
    const detail = `the server alone shows this record ${this.records.length - 1}: ${shown}`;
    this.distrusted.set(party, { ...different, detail });
    tail.length = 0;
  }

  /**
   * The proofs are signed by whoever made them: if one does not hold, it is no other server's fault
   * that shows it.
   */
  private verify(): void {
    try {
      this.visit.verify();
    } catch (error) {
      throw new Refused(this.doubt(error));
    }
  }

  private doubt(error: unknown): Rejection {
    return rejectionOf(error, this.visit);
  }

  private compare(infos: [number, DecisionInfo][]): void {
    const [doubt] = this.distrusted.values();
    if (this.records.length === 0 && !this.hasMore())
      throw doubt ? new Refused(doubt) : new LocalizedError(t.refusal.away);
    const here = (info: DecisionInfo) => info.records >= 1 && info.records <= this.records.length;
    for (const [party, info] of infos) {
      if (this.distrusted.has(party) || !here(info)) continue;
      const same = this.visit.digest(info.records - 1) === info.head;
      if (!same) this.distrusted.set(party, different);
    }
    const alone = this.servers.length - this.distrusted.size < this.believed;
    if (alone) throw new Refused([...this.distrusted.values()][0] ?? different);
  }

  /**
   * The result, as soon as the servers have opened it; `null` before, and if there will be none.
   */
  outcome(): Outcome | null {
    const whole = [...this.openings].filter(
      ([party, openings]) => openings.length === this.servers.length && !this.distrusted.has(party),
    );
    const failures: [number, Rejection][] = [];
    let outcome: Outcome | null = null;
    for (const [party, openings] of whole) {
      const found = this.open(openings);
      if ('outputs' in found) {
        [outcome, this.proven] = [found, openings];
        break;
      }
      failures.push([party, found]);
    }
    for (const [party, doubt] of failures) this.blame(party, doubt);
    if (failures.length >= this.believed)
      this.unresolved ??=
        (failures.find(([party]) => !this.distrusted.has(party)) ?? failures[0])?.[1] ?? null;
    if (outcome !== null) this.unresolved = null;
    return outcome;
  }

  private open(openings: Opening[]): Outcome | Rejection {
    const json = JSON.stringify(openings);
    const before = this.tried.get(json);
    if (before !== undefined) return before;
    try {
      return readOutcome(this.visit.result(json));
    } catch (error) {
      const doubt = this.doubt(error);
      this.tried.set(json, doubt);
      return doubt;
    }
  }

  /**
   * Whose fault it is that the openings which `shower` shows make no result. Nobody's, if all of
   * them hold and too few stand in for somebody. Each opening is verified by itself: a wrong one is
   * its author's if the author or two servers show it, and the shower's if two show another one.
   * Otherwise it is not certain yet. Servers take nothing from each other that is malformed, so
   * that is the shower's, if no other shows it.
   */
  private blame(shower: number, doubt: Rejection): void {
    const { finding } = doubt;
    if (finding.kind === 'no-result' || this.distrusted.has(shower)) return;
    const author = finding.kind === 'opening' ? finding.party : null;
    const opening = (party: number) => {
      const openings = this.openings.get(party);
      return author === null
        ? JSON.stringify(openings)
        : openings?.find((one) => one.party === author)?.opening;
    };
    const shown = [...this.openings.keys()].filter(
      (party) => !this.distrusted.has(party) && opening(party) !== undefined,
    );
    const same = shown.filter((party) => opening(party) === opening(shower));
    if (author !== null && (same.includes(author) || same.length >= this.believed))
      this.distrusted.set(author, doubt);
    else if (
      same.length < this.believed &&
      (author === null || shown.length - same.length >= this.believed)
    )
      this.distrusted.set(shower, doubt);
  }

  /** The openings of which the result came, as JSON for an archive. */
  proof(): string {
    return JSON.stringify(this.proven);
  }

  free(): void {
    this.visit.free();
  }
}
