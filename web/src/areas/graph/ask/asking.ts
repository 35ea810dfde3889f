// What somebody asks of several people's connections, before it is signed.

import { systemClock } from '../../../lib/page/clock';
import { DeviceKey, askGraph } from '../../../lib/page/cryptography';
import { retrying } from '../../../lib/servers/retrying';
import { flag, opaque, record, text, type Of } from '../../../lib/servers/shape';
import { keepCreator, type Found } from '../../asked/committee';

export type Program =
  | { distances: { from: string[]; hops: number } }
  | { reach: { from: string[]; hops: number } }
  | { shortest: { from: string[]; within: number; longest: number } }
  | { components: { hops: number } }
  | { katz: { base: number; hops: number } }
  | { pagerank: { damping: number; hops: number } }
  | 'edges'
  | 'in-degrees'
  | 'out-degrees';

/** What is computed, and what is shown of it to whom. */
export interface Wanted {
  program: Program;
  shown: 'counts' | 'vertices' | { 'at-least': number } | { top: number };
  /** Noise that hides one connection, if there is some: ε in thousandths. */
  noise: { epsilon: number; bins: number } | null;
  for_me: boolean;
}

/** For how many more questions contributions are kept, and how long. */
export interface Keep {
  questions: number;
  days: number;
}

export interface Terms extends Wanted {
  text: string;
  /** The vertices' names, one a line; none if they are numbers. */
  names: string | null;
  vertices: number;
  edges: number;
  undirected: boolean;
  weighted: boolean;
  /** `null` if contributions are erased when the result is there. */
  keep: Keep | null;
  minimum: number;
  closes: number | null;
}

/** Another question about contributions that are kept. */
export interface Further extends Wanted {
  text: string;
}

const askedShape = record({ id: text, committee: text, draft: opaque, named_elsewhere: flag });

/** What was asked, with one secret for each person who was invited. */
export interface Done {
  id: string;
  committee: string;
  seeds: string[];
  /** Whether everybody who contributes needs the file of names. */
  namesNeeded: boolean;
}

/**
 * Drafts a question, keeps the key that closes it, and hands it to all servers. `people` is how
 * many links are made; none if whoever has the link may contribute.
 */
export async function ask(
  found: Found,
  terms: Terms,
  people: number | null,
  signal: AbortSignal,
): Promise<Done> {
  const invited = Array.from({ length: people ?? 0 }, () => DeviceKey.generate());
  const creator = DeviceKey.generate();
  const keys = people === null ? null : invited.map((key) => key.publicKey());
  const asking = JSON.stringify({ ...terms, invited: keys });
  const asked = await lay(askGraph(found.raw, asking, creator), creator, (draft) =>
    Promise.all(
      found.members.map((member) => retrying(() => member.create(draft), systemClock, signal)),
    ),
  );
  const seeds = invited.map((key) => key.invitation());
  return { id: asked.id, committee: asked.committee, seeds, namesNeeded: asked.named_elsewhere };
}

/** Keeps the key of who asks, and then has a draft laid before all members. */
export async function lay(
  drafted: string,
  creator: DeviceKey,
  before: (draft: unknown) => Promise<unknown>,
): Promise<Of<typeof askedShape>> {
  const asked = askedShape(JSON.parse(drafted));
  // The key that closes it, and opens what is for who asked, is kept before anybody hears of it.
  keepCreator(localStorage, asked.id, creator);
  await before(asked.draft);
  return asked;
}

/** Names as they stand in a list that somebody typed: one a line, or between commas. */
export function namesIn(typed: string): string[] {
  return typed
    .split(/[\n,]/)
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
