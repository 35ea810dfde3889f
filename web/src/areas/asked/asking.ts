// A committee as the page sees it: all members are asked, and nothing is believed that is not
// signed by all of them, or named by the link.

import { t } from '../../messages/ask';
import type { Filled } from '../../lib/address';
import { HttpServer, Problem } from '../../lib/api';
import { secureRandom, type Clock } from '../../lib/clock';
import { AskedCommittee, DeviceKey } from '../../lib/cryptography';
import { isPassing, patiently } from '../../lib/patience';
import {
  Malformed,
  count,
  flag,
  list,
  oneOf,
  opaque,
  optional,
  record,
  text,
  type Of,
  type Shape,
} from '../../lib/shape';
import { Told } from '../../lib/told';

const committeeShape = record({ name: text, members: list(record({ name: text, url: text })) });

const viewShape = record({
  inputs: count,
  phase: record({
    is: oneOf('collecting', 'sealing', 'computing', 'done', 'too-few', 'stopped'),
    why: optional(text),
    missing: optional(count),
  }),
  members: list(
    record({ name: text, closed: flag, sealed: flag, signed: flag, stopped: optional(text) }),
  ),
});

const questionShape = record({
  text,
  largest: count,
  minimum: count,
  statistics: list(opaque),
  epsilon: optional(count),
  closes: optional(count),
  anyone: flag,
  creator: text,
});

const integer: Shape<number> = (value) => {
  if (!Number.isSafeInteger(value)) throw new Malformed('a whole number expected');
  return value as number;
};

const binShape = record({ from: count, to: optional(count), count: integer });

const provenShape = record({
  reports: count,
  out: count,
  missing: count,
  answers: optional(list(opaque)),
});

export type View = Of<typeof viewShape>;
export type Question = Of<typeof questionShape>;
export type Bin = Of<typeof binShape>;

/** An answer as it is shown. */
export type Answer =
  | { kind: 'quantile'; thousandths: number; value: number }
  | { kind: 'sum'; sum: number }
  | { kind: 'spread'; mean: number; deviation: number }
  | { kind: 'histogram'; bins: Bin[] }
  /** What only the program can ask for, and shows. */
  | { kind: 'other' };

/** What came out, proved. */
export interface Result {
  reports: number;
  out: number;
  missing: number;
  answers: Answer[] | null;
  /** Everything that proves it, as the program verifies it offline. */
  archive: string;
}

/** What a creator asks; `largest` is rounded up to a power of two less one. */
export interface Terms {
  text: string;
  largest: number;
  minimum: number;
  statistics: unknown[];
  closes: number | null;
  invited: string[] | null;
}

/** One member over HTTP. */
class Member extends HttpServer {
  private at(path: string): Filled {
    return `/api/v1/${path}` as Filled;
  }

  committee(): Promise<string> {
    return this.ask(this.at('committee'));
  }

  create(draft: unknown): Promise<string> {
    return this.send('computations', JSON.stringify(draft));
  }

  view(id: string): Promise<string> {
    return this.ask(this.at(`computations/${id}`));
  }

  handIn(id: string, report: Uint8Array): Promise<string> {
    return this.ask(this.at(`computations/${id}/inputs`), {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: report as BodyInit,
    });
  }

  order(id: string, order: string): Promise<string> {
    return this.send(`computations/${id}/order`, order);
  }

  archive(id: string): Promise<string> {
    return this.ask(this.at(`computations/${id}/archive`));
  }

  private send(path: string, body: string): Promise<string> {
    const headers = { 'content-type': 'application/json' };
    return this.ask(this.at(path), { method: 'POST', headers, body });
  }
}

/** A committee, and what it was asked once {@link Asked.read} has resolved. */
export class Asked {
  private constructor(
    readonly name: string,
    readonly names: string[],
    private readonly members: Member[],
    private readonly checked: AskedCommittee,
  ) {}

  /** Finds the committee of the member that serves this page; `digest` is the link's. */
  static async open(origin: string, digest?: string): Promise<Asked> {
    const raw = await new Member(origin).committee();
    let checked;
    try {
      checked = new AskedCommittee(raw, digest);
    } catch {
      throw new Told(t.otherCommittee);
    }
    const { name, members } = committeeShape(JSON.parse(raw));
    const names = members.map((member) => member.name);
    return new Asked(
      name,
      names,
      members.map(({ url }) => new Member(url)),
      checked,
    );
  }

  digest(): string {
    return this.checked.digest();
  }

  /**
   * Drafts a question and hands it to all members; its name. `drafted` hears it before anybody
   * else.
   */
  async ask(
    terms: Terms,
    creator: DeviceKey,
    clock: Clock,
    signal: AbortSignal,
    drafted: (id: string) => void,
  ): Promise<string> {
    const { id, draft } = record({ id: text, draft: opaque })(
      JSON.parse(this.checked.ask(JSON.stringify(terms), creator)),
    );
    drafted(id);
    await this.all((member) => patiently(() => member.create(draft), clock, signal));
    return id;
  }

  /** Reads the question from whichever member shows the one that the link names. */
  async read(id: string): Promise<Question> {
    let reason: unknown = new Told(t.unknown);
    for (const member of this.members) {
      try {
        return questionShape(JSON.parse(this.checked.read(await member.view(id), id)));
      } catch (error) {
        if (error instanceof Problem && error.status === 404) continue;
        reason = error;
      }
    }
    throw reason;
  }

  /** How far it is, as the members that answer say, the farthest first. */
  async views(id: string): Promise<View[]> {
    const answers = await Promise.allSettled(
      this.members.map(async (member) => viewShape(JSON.parse(await member.view(id)))),
    );
    const order = ['done', 'too-few', 'stopped', 'computing', 'sealing', 'collecting'];
    return answers
      .flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
      .sort((a, b) => order.indexOf(a.phase.is) - order.indexOf(b.phase.is));
  }

  admits(reporter: DeviceKey): boolean {
    return this.checked.admits(reporter);
  }

  report(value: number, reporter: DeviceKey): Uint8Array {
    return this.checked.report(BigInt(value), reporter);
  }

  /** Hands a report in at all members; throws unless all have given their receipts. */
  async handIn(id: string, report: Uint8Array, clock: Clock, signal: AbortSignal): Promise<void> {
    await this.all(async (member, number) => {
      const answer = await patiently(() => member.handIn(id, report), clock, signal);
      if (!this.checked.isReceipt(report, number, answer))
        throw new Told(t.noReceipt(this.names[number] ?? ''));
    });
  }

  /**
   * Gives the creator's order to close; one member that takes it passes it on. It is not given
   * while no member shows as many answers as the `minimum`.
   */
  async close(id: string, creator: DeviceKey, minimum: number): Promise<void> {
    const most = Math.max(0, ...(await this.views(id)).map(({ inputs }) => inputs));
    if (most < minimum) throw new Told(t.early(minimum - most));
    const order = this.checked.order(creator);
    const answers = await Promise.allSettled(this.members.map((m) => m.order(id, order)));
    if (answers.some((answer) => answer.status === 'fulfilled')) return;
    throw (answers[0] as PromiseRejectedResult).reason;
  }

  /** The result, checked; from whichever member shows one that is proved. */
  async result(id: string): Promise<Result> {
    let reason: unknown;
    for (const member of this.members) {
      try {
        const archive = await member.archive(id);
        const proven = provenShape(JSON.parse(this.checked.verify(archive)));
        const answers = proven.answers?.map((answer) => answerOf(answer, proven.reports)) ?? null;
        // The program verifies what all members have signed, without what one says of it besides.
        const signed: unknown = record({ archive: opaque })(JSON.parse(archive)).archive;
        return { ...proven, answers, archive: JSON.stringify(signed) };
      } catch (error) {
        reason = error;
      }
    }
    throw isPassing(reason) ? new Told(t.unproven) : reason;
  }

  private all<T>(act: (member: Member, number: number) => Promise<T>): Promise<T[]> {
    return Promise.all(this.members.map(act));
  }
}

/** Reads an answer of so many reports. */
export function answerOf(answer: unknown, reports: number): Answer {
  const { quantile, sum, variance, histogram } = record({
    quantile: optional(record({ thousandths: count, value: count })),
    sum: optional(integer),
    variance: optional(record({ sum: integer, squares: integer })),
    histogram: optional(list(binShape)),
  })(answer);
  if (quantile) return { kind: 'quantile', ...quantile };
  if (sum !== null) return { kind: 'sum', sum };
  if (histogram) return { kind: 'histogram', bins: histogram };
  if (!variance) return { kind: 'other' };
  const mean = variance.sum / Math.max(1, reports);
  const spread = variance.squares / Math.max(1, reports) - mean * mean;
  return { kind: 'spread', mean, deviation: Math.sqrt(Math.max(0, spread)) };
}

/** Bounds of a histogram of so many bins of equal width, for numbers up to `largest`. */
export function boundsOf(largest: number, bins: number): number[] {
  const width = Math.ceil((largest + 1) / bins);
  const bounds = Array.from({ length: bins - 1 }, (_, bin) => (bin + 1) * width);
  return bounds.filter((bound) => bound <= largest);
}

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>;

const CREATOR = 'ostrakon/asked/';
const REPORT = 'ostrakon/reported/';

/** A creator's key on this device, as the last part of a link. */
export function keepCreator(storage: Storage, id: string, key: DeviceKey): void {
  storage.setItem(CREATOR + id, key.invitation());
}

export function creatorOf(storage: Storage, id: string): DeviceKey | null {
  const kept = storage.getItem(CREATOR + id);
  return kept === null ? null : DeviceKey.fromInvitation(kept);
}

/** A report on this device: the same bytes go to all members, also after a reload. */
export interface KeptReport {
  report: string;
  done: boolean;
}

const keptShape = record({ report: text, done: flag });

export function keptReport(storage: Storage, id: string, person: string): KeptReport | null {
  const kept = storage.getItem(`${REPORT}${id}/${person}`);
  return kept === null ? null : keptShape(JSON.parse(kept));
}

export function keepReport(storage: Storage, id: string, person: string, kept: KeptReport): void {
  storage.setItem(`${REPORT}${id}/${person}`, JSON.stringify(kept));
}

/** Milliseconds between two looks, so that pages that were opened together do not ask in step. */
export const pause = (): number => 600 + 600 * secureRandom();
