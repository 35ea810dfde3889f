// Reads a decision's chain from whichever server has more of it, verifies every record, and sees to it that a second server shows the
// same. Nothing is shown or answered before.

import { t } from '../messages/common';
import { systemClock } from './clock';
import type { DecisionVisit } from './cryptography';
import { Problem } from './api';
import type { DecisionInfo, DecisionServer, Opening } from './decisions';
import { Told } from './told';
import { readOutcome, readView, type Outcome, type View } from './decision';
import { different, doubtOf, type Doubt } from './doubt';

/** Called as the work goes on. */
export type Progress = (done: number, all: number) => void;

/** What was found is not what honest servers show: nothing may be answered. */
export class Refused extends Error {
  constructor(readonly doubt: Doubt) {
    super(doubt.detail);
  }
}

/** Two servers have to show the same. */
const AGREEING = 2;
/** Records after which the proofs read so far are verified; the page repaints in between. */
const CHUNK = 8;
/** Records that a chain may have: what a server says beyond is not believed. */
const MOST = 1_000;

/** What verifies the records. */
type Verifier = Pick<DecisionVisit, 'read' | 'verify' | 'view' | 'digest' | 'result' | 'finding' | 'free'>;
/** What is asked of a server. */
type Source = Pick<DecisionServer, 'decision' | 'records'>;

export class Reading<V extends Verifier = DecisionVisit> {
  /** The records that were read, in base64url. */
  readonly records: string[] = [];
  /** What each server says that the servers have opened. */
  private readonly openings = new Map<number, Opening[]>();
  /** Servers that have shown something that does not verify, with the reason. They are not asked again. */
  readonly distrusted = new Map<number, Doubt>();
  /** Why servers do not open what is closed, in English, by party. */
  readonly refusals = new Map<number, string>();
  /** Records that a second server has shown, too. */
  private agreed = 0;

  constructor(
    /** Nothing is read in it yet. */
    readonly visit: V,
    private readonly id: string,
    private readonly servers: Source[],
    private readonly repaint: () => Promise<void> = () => systemClock.sleep(0, new AbortController().signal),
  ) {}

  /** What was read; `null` before a second server has shown the same. */
  view(): View | null {
    const view = this.isAgreed() ? this.visit.view() : undefined;
    return view === undefined ? null : readView(view);
  }

  isAgreed(): boolean {
    return this.records.length > 0 && this.agreed === this.records.length;
  }

  /** How many openings the best server shows. */
  opened(): number {
    return Math.max(0, ...[...this.openings.values()].map((openings) => openings.length));
  }

  /**
   * Reads on and verifies. Throws {@link Refused} if what the servers show does not hold, {@link Problem} with 404 if none knows the
   * decision, another error if none answers.
   */
  async on(progress: Progress): Promise<void> {
    const infos = await this.ask();
    this.refusals.clear();
    for (const [party, { refusal }] of infos) if (refusal !== null) this.refusals.set(party, refusal);
    for (const [party, info] of infos) {
      const all = Math.min(info.records, MOST);
      if (all > this.records.length || info.stage === 'closed' || info.stage === 'done') await this.readFrom(party, all, progress);
    }
    this.verify();
    this.compare(infos);
  }

  /** How the decision stands at the servers that answer. */
  private async ask(): Promise<[number, DecisionInfo][]> {
    const answers = await Promise.allSettled(this.servers.map((server) => server.decision(this.id)));
    const known = answers.flatMap((answer, party): [number, DecisionInfo][] =>
      answer.status === 'fulfilled' && !this.distrusted.has(party) ? [[party, answer.value]] : [],
    );
    if (known.length > 0) return known;
    const [distrust] = this.distrusted.values();
    if (distrust !== undefined) throw new Refused(distrust);
    const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []));
    throw failures.find((failure) => failure instanceof Problem && failure.status === 404) ?? failures[0];
  }

  private async readFrom(party: number, all: number, progress: Progress): Promise<void> {
    const server = this.servers[party];
    while (server) {
      const page = await server.records(this.id, this.records.length).catch(() => null);
      if (!page) return;
      this.openings.set(party, page.openings);
      if (page.records.length === 0) return;
      for (const record of page.records) {
        try {
          this.visit.read(record);
        } catch (error) {
          this.distrusted.set(party, this.doubt(error));
          return;
        }
        this.records.push(record);
        progress(this.records.length, Math.max(all, this.records.length));
        if (this.records.length % CHUNK === 0) this.verify();
        await this.repaint();
      }
    }
  }

  /** The proofs are signed by whoever made them: if one does not hold, it is no other server's fault that shows it. */
  private verify(): void {
    try {
      this.visit.verify();
    } catch (error) {
      throw new Refused(this.doubt(error));
    }
  }

  private doubt(error: unknown): Doubt {
    return doubtOf(error, this.visit);
  }

  private compare(infos: [number, DecisionInfo][]): void {
    const [doubt] = this.distrusted.values();
    if (this.records.length === 0) throw doubt ? new Refused(doubt) : new Told(t.refusal.away);
    const here = (info: DecisionInfo) => info.records >= 1 && info.records <= this.records.length;
    for (const [party, info] of infos) {
      if (this.distrusted.has(party) || !here(info)) continue;
      const same = this.visit.digest(info.records - 1) === info.head;
      if (!same) this.distrusted.set(party, different);
    }
    const honest = infos.filter(([party, info]) => here(info) && !this.distrusted.has(party));
    const lengths = honest.map(([, { records }]) => records).sort((a, b) => b - a);
    this.agreed = Math.max(this.agreed, lengths[AGREEING - 1] ?? 0);
    const alone = this.servers.length - this.distrusted.size < AGREEING;
    if (alone) throw new Refused([...this.distrusted.values()][0] ?? different);
  }

  /** The result, as soon as the servers have opened it; `null` before. */
  outcome(): Outcome | null {
    for (const [party, openings] of this.openings) {
      if (openings.length < this.servers.length) continue;
      try {
        return readOutcome(this.visit.result(JSON.stringify(openings)));
      } catch (error) {
        this.distrusted.set(party, this.doubt(error));
        this.openings.delete(party);
      }
    }
    return null;
  }

  /** The openings of which the result came, as JSON for an archive. */
  proof(): string {
    const [whole] = [...this.openings.values()].filter((openings) => openings.length === this.servers.length);
    return JSON.stringify(whole ?? []);
  }

  free(): void {
    this.visit.free();
  }
}
