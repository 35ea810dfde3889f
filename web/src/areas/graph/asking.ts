// A graph that a committee was asked about, as the page sees it.

import { t } from '../../i18n/ask';
import { systemClock } from '../../lib/page/clock';
import { AskedGraph, type DeviceKey } from '../../lib/page/cryptography';
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
import { Committee, signed, type Found } from '../asked/committee';
import { lay, type Further } from './ask/asking';

const questionShape = record({
  text,
  vertices: count,
  edges: count,
  undirected: flag,
  weighted: flag,
  program: opaque,
  shown: opaque,
  noise: optional(record({ epsilon: count, bins: count })),
  minimum: count,
  closes: optional(count),
  anyone: flag,
  creator: text,
  named_elsewhere: flag,
  bytes: count,
  from: list(text),
  for_reader: flag,
  keep: optional(record({ questions: count, days: count })),
  earlier: flag,
  processors: optional(count),
});

const toldShape = record({ edges: count, wrong: count });
const checkedShape = record({ edges: count, wrong: count, errors: list(text) });

/** A pair of these. */
const pair =
  <A, B>(a: Shape<A>, b: Shape<B>): Shape<[A, B]> =>
  (value) => {
    const [first, second] = list(opaque)(value);
    return [a(first), b(second)];
  };

/** A vertex's value: large ones are shown as near as a number can be. */
const amount: Shape<number> = (value) => {
  if (typeof value !== 'number' || !(value >= 0)) throw new Malformed('a number expected');
  return value;
};

const provenShape = record({
  contributors: count,
  out: count,
  missing: count,
  counts: optional(list(pair(optional(amount), count))),
  total: optional(amount),
  top: list(pair(text, amount)),
  closed: flag,
  liars: list(count),
});

export type GraphQuestion = Of<typeof questionShape>;
export type CheckedFile = Of<typeof checkedShape>;

/** What came out, proved. */
export interface GraphResult {
  contributors: number;
  out: number;
  missing: number;
  counts: [number | null, number][] | null;
  /** The one number that came out, if it is one. */
  total: number | null;
  top: [string, number][];
  /** Whether only who asked can read it, and this is somebody else. */
  closed: boolean;
  /** Servers that have sealed other values than those that they have signed for. */
  liars: string[];
  archive: string;
}

/** What is computed, for people. */
export type Computed =
  | { kind: 'distances' | 'reach' | 'components' | 'katz' | 'pagerank'; hops: number }
  | { kind: 'shortest'; hops: number; longest: number }
  | { kind: 'edges' | 'in-degrees' | 'out-degrees' };

const programShape = record({
  distances: optional(record({ hops: count })),
  reach: optional(record({ hops: count })),
  shortest: optional(record({ within: count, longest: count })),
  components: optional(record({ hops: count })),
  katz: optional(record({ hops: count })),
  pagerank: optional(record({ hops: count })),
});

/** Ranks are scaled by this: all of them together. */
export const RANKS = 2 ** 30;

export function computedBy(program: unknown): Computed {
  if (program === 'edges' || program === 'in-degrees' || program === 'out-degrees') {
    return { kind: program };
  }
  const of = programShape(program);
  if (of.shortest) {
    return { kind: 'shortest', hops: of.shortest.within, longest: of.shortest.longest };
  }
  for (const kind of ['distances', 'reach', 'components', 'katz', 'pagerank'] as const) {
    const parameters = of[kind];
    if (parameters) return { kind, hops: parameters.hops };
  }
  throw new LocalizedError(t.unknown);
}

/** The degrees below which nothing is shown, if that is what is asked. */
export function thresholdOf(shown: unknown): number | null {
  if (typeof shown !== 'object' || shown === null) return null;
  return record({ 'at-least': optional(count) })(shown)['at-least'];
}

/** How many of the highest values are shown, if that is what is asked. */
export function firstOf(shown: unknown): number | null {
  if (typeof shown !== 'object' || shown === null) return null;
  return record({ top: optional(count) })(shown).top;
}

/** How many vertices with the highest values are shown. */
const TOP = 10;
/** How much of a file is read at a time. */
const PIECE = 1 << 18;

/** A committee that was asked about a graph. */
export class AskedAboutGraph extends Committee {
  private constructor(
    found: Found,
    private readonly graph: AskedGraph,
    readonly question: GraphQuestion,
  ) {
    super(found, graph);
  }

  /** What a member shows of a computation, checked against the link. */
  static of(found: Found, id: string, view: string, digest?: string): AskedAboutGraph {
    let graph;
    try {
      graph = new AskedGraph(found.raw, digest, view, id);
    } catch {
      throw new LocalizedError(t.otherCommittee);
    }
    return new AskedAboutGraph(found, graph, questionShape(JSON.parse(graph.read())));
  }

  /** Whether there is a vertex of this name, as far as the names are known. */
  hasVertex(name: string): boolean {
    return this.graph.hasVertex(name);
  }

  /** Asks another question about the contributions that are kept, as who asked this one. */
  further(
    further: Further,
    creator: DeviceKey,
    signal: AbortSignal,
  ): Promise<{ id: string; committee: string }> {
    return lay(this.graph.further(JSON.stringify(further), creator), creator, (draft) =>
      this.all((member) => retrying(() => member.create(draft), systemClock, signal)),
    );
  }

  /** Takes the file of the vertices' names. */
  async name(file: File): Promise<void> {
    this.graph.name(await file.text());
  }

  /** Reads and checks a file of edges, piece by piece; `tell` hears how far it is, from 0 to 1. */
  async read(
    file: Blob,
    tell: (part: number, edges: number, wrong: number) => void,
  ): Promise<CheckedFile> {
    this.graph.begin();
    const decoder = new TextDecoder('utf-8', { fatal: true });
    for (let at = 0; at < file.size; at += PIECE) {
      const bytes = await file.slice(at, at + PIECE).arrayBuffer();
      const piece = decoder.decode(bytes, { stream: at + PIECE < file.size });
      const { edges, wrong } = toldShape(JSON.parse(this.graph.take(piece)));
      tell(Math.min(1, (at + PIECE) / file.size), edges, wrong);
    }
    return checkedShape(JSON.parse(this.graph.end()));
  }

  /** A contribution of the file that was read. */
  contribution(owner: DeviceKey): Uint8Array {
    return this.graph.contribution(owner);
  }

  /**
   * The result, checked; from whichever member shows one that is proved. `creator` is the key of
   * who asked, where this device has it.
   */
  result(id: string, creator: DeviceKey | null): Promise<GraphResult> {
    const top = firstOf(this.question.shown) ?? TOP;
    return this.proved(id, (archive) => {
      const opens = this.question.for_reader && creator;
      const proven = provenShape(
        JSON.parse(
          opens ? this.graph.open(archive, top, creator) : this.graph.verify(archive, top),
        ),
      );
      const liars = proven.liars.map((member) => this.names[member] ?? '');
      return { ...proven, liars, archive: signed(archive) };
    });
  }
}
