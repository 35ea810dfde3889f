// Whom a host admits: keys from a list, and keys made for invitations.

/** Keys that one action may name. */
const AT_ONCE = 256;

/** What stands in a list of keys, one on each line. */
export interface KeyList {
  /** Each once, and none that is known already. */
  fresh: string[];
  /** Lines that are no keys, from 1. */
  wrong: number[];
}

/**
 * Reads keys as people paste them: with blanks, quotes and commas around them, in capitals, twice.
 */
export function keysIn(text: string, known: readonly string[]): KeyList {
  const admitted = new Set(known);
  const fresh = new Set<string>();
  const wrong: number[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const key = line.replace(/^[\s"',;]+|[\s"',;]+$/g, '').toLowerCase();
    if (key === '') continue;
    if (!/^[0-9a-f]{64}$/.test(key)) wrong.push(index + 1);
    else if (!admitted.has(key)) fresh.add(key);
  }
  return { fresh: [...fresh], wrong };
}

/** Lists that one action each can name. */
export function inTurns(keys: string[]): string[][] {
  return Array.from({ length: Math.ceil(keys.length / AT_ONCE) }, (_, turn) =>
    keys.slice(turn * AT_ONCE, (turn + 1) * AT_ONCE),
  );
}
