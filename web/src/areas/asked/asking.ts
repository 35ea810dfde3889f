// A committee that is asked for numbers, as the page sees it.

import { t } from '../../i18n/ask';
import type { Clock } from '../../lib/page/clock';
import { AskedCommittee, type DeviceKey } from '../../lib/page/cryptography';
import { retrying } from '../../lib/servers/retrying';
import {
  Malformed,
  count,
  flag,
  list,
  opaque,
  optional,
  record,
  text,
  type Of,
  type Shape,
} from '../../lib/servers/shape';
import { LocalizedError } from '../../lib/servers/localized';
import { Committee, find, signed, type Found } from './committee';

export {
  creatorOf,
  keepCreator,
  keepFirstReport,
  keepReport,
  keptReport,
  pause,
  type KeptReport,
  type View,
} from './committee';

const questionShape = record({
  text,
  /** The largest number; what it says of lists is nothing. */
  largest: count,
  /** How many groups there are, to one of which everybody belongs. */
  groups: optional(count),
  /** Everybody hands in a list of things. */
  things: flag,
  minimum: count,
  statistics: list(opaque),
  /** Whether a circuit of the asker's own reads all answers at once: it may tell any of them. */
  at_once: flag,
  /** Thousandths of ε; none without noise. */
  epsilon: optional(count),
  /** δ is at most 2^-`delta_bits`. */
  delta_bits: optional(count),
  closes: optional(count),
  anyone: flag,
  creator: text,
});

const integer: Shape<number> = (value) => {
  if (!Number.isSafeInteger(value)) throw new Malformed('a whole number expected');
  return value as number;
};

const binShape = record({ from: count, to: optional(count), count: integer });

const placeShape = record({ candidate: count, count: integer });

const groupShape = record({ size: count, answer: optional(opaque) });

/**
 * Thousandths of ε that all answers so far tell of anybody who reported, `null` if one of them was
 * exact; and the limit.
 */
const spentShape = record({ most: optional(count), budget: optional(count) });

const provenShape = record({
  reports: count,
  out: count,
  missing: count,
  spent: optional(spentShape),
  answers: optional(list(opaque)),
});

export type Question = Of<typeof questionShape>;
export type Bin = Of<typeof binShape>;
export type Place = Of<typeof placeShape>;

/** A group's answer; none, and size 0, if it has fewer members than the minimum. */
export interface Group {
  size: number;
  answer: Answer | null;
}

/** An answer as it is shown. */
export type Answer =
  | { kind: 'quantile'; thousandths: number; value: number }
  | { kind: 'sum'; sum: number }
  | { kind: 'spread'; mean: number; deviation: number }
  | { kind: 'histogram'; bins: Bin[] }
  /** The most frequent numbers, the most frequent first. */
  | { kind: 'top'; places: Place[] }
  /** How many different things there are, about. */
  | { kind: 'distinct'; estimate: number }
  /** The answer to one statistic for each group. */
  | { kind: 'groups'; groups: Group[] }
  /** Of a circuit of the asker's own. */
  | { kind: 'circuit'; values: number[] }
  /** What a newer program asks for. */
  | { kind: 'other' };

/** What came out, proved. */
export interface Result {
  reports: number;
  out: number;
  missing: number;
  spent: Of<typeof spentShape> | null;
  answers: Answer[] | null;
  /** Everything that proves it, as the program verifies it offline. */
  archive: string;
}

/** What a creator asks; `largest` is rounded up to a power of two less one. */
export interface Terms {
  text: string;
  largest: number;
  /** How many groups; null without. */
  groups: number | null;
  /** Whether lists of things are asked for. */
  things: boolean;
  minimum: number;
  statistics: unknown[];
  /** Thousandths of ε; null without noise. */
  epsilon: number | null;
  closes: number | null;
  invited: string[] | null;
}

/** A committee, and what it was asked once {@link Asked.read} has resolved. */
export class Asked extends Committee {
  private constructor(
    readonly name: string,
    found: Found,
    private readonly numbers: AskedCommittee,
  ) {
    super(found, numbers);
  }

  /** Finds the committee of the member that serves this page; `digest` is the link's. */
  static async open(origin: string, digest?: string): Promise<Asked> {
    return Asked.of(await find(origin), digest);
  }

  /** A committee that was found. */
  static of(found: Found, digest?: string): Asked {
    let checked;
    try {
      checked = new AskedCommittee(found.raw, digest);
    } catch {
      throw new LocalizedError(t.otherCommittee);
    }
    return new Asked(found.name, found, checked);
  }

  digest(): string {
    return this.numbers.digest();
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
      JSON.parse(this.numbers.ask(JSON.stringify(terms), creator)),
    );
    drafted(id);
    await this.all((member) => retrying(() => member.create(draft), clock, signal));
    return id;
  }

  /** Reads the question from whichever member shows the one that the link names. */
  read(id: string): Promise<Question> {
    return this.shown(id, (view) => questionShape(JSON.parse(this.numbers.read(view, id))));
  }

  /** A report of a number; `group` is the reporter's, where there are groups. */
  report(value: number, group: number | undefined, reporter: DeviceKey): Uint8Array {
    return this.numbers.report(BigInt(value), group, reporter);
  }

  /** A report of a list of things, which fall where all members together say. */
  async reportThings(
    id: string,
    things: string[],
    reporter: DeviceKey,
    clock: Clock,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const views = await this.all((member) => retrying(() => member.view(id), clock, signal));
    return this.numbers.reportThings(things, views, reporter);
  }

  /** The result, checked; from whichever member shows one that is proved. */
  result(id: string): Promise<Result> {
    return this.proved(id, (archive) => {
      const proven = provenShape(JSON.parse(this.numbers.verify(archive)));
      const answers = proven.answers?.map((answer) => answerOf(answer, proven.reports)) ?? null;
      return { ...proven, answers, archive: signed(archive) };
    });
  }
}

/** Reads an answer of so many reports. */
export function answerOf(answer: unknown, reports: number): Answer {
  const { quantile, sum, variance, histogram, top, distinct, circuit, ...rest } = record({
    quantile: optional(record({ thousandths: count, value: count })),
    sum: optional(integer),
    variance: optional(record({ sum: integer, squares: integer })),
    histogram: optional(list(binShape)),
    top: optional(list(placeShape)),
    distinct: optional(record({ estimate: count })),
    circuit: optional(list(integer)),
    'by-group': optional(list(groupShape)),
  })(answer);
  const groups = rest['by-group'];
  if (quantile) return { kind: 'quantile', ...quantile };
  if (sum !== null) return { kind: 'sum', sum };
  if (histogram) return { kind: 'histogram', bins: histogram };
  if (circuit) return { kind: 'circuit', values: circuit };
  if (top) return { kind: 'top', places: top };
  if (distinct) return { kind: 'distinct', ...distinct };
  if (groups) {
    const of = ({ size, answer }: Of<typeof groupShape>) => ({
      size,
      answer: answer === null ? null : answerOf(answer, size),
    });
    return { kind: 'groups', groups: groups.map(of) };
  }
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
