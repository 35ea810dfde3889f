import { expect, test } from 'vitest';

import { Problem } from './api';
import type { DecisionInfo } from './decisions';
import { Reading, Refused } from './reading';

/** A history in which a record's digest is its own text; `!` does not verify when it is read, `?` when its proof is. */
class Visit {
  private readonly read_: string[] = [];

  read(record: string): void {
    if (record.includes('!')) throw new Error(`${record} is not signed`);
    this.read_.push(record);
  }

  verify(): void {
    const wrong = this.read_.find((record) => record.includes('?'));
    if (wrong !== undefined) throw new Error(`the proof in ${wrong}, which “Ben” signed, is wrong`);
  }

  view(): string | undefined {
    return undefined;
  }

  digest(number: number): string | undefined {
    return this.read_[number];
  }

  result(openings: string): string {
    if (openings.includes('!')) throw new Error('an opening is wrong');
    return '{"outputs":[1],"meanings":[{"passed":true}]}';
  }

  finding(): string | undefined {
    return undefined;
  }

  free(): void {}
}

type Shown = string[] | Error;

function server(shown: Shown, openings: string[] = []) {
  const records = () => {
    if (shown instanceof Error) throw shown;
    return shown;
  };
  return {
    decision: (): Promise<DecisionInfo> =>
      Promise.resolve().then(() => ({ records: records().length, head: records().at(-1) ?? '', stage: openings.length > 0 ? 'closed' : 'answering', refusal: null })),
    records: (_: string, from: number) =>
      Promise.resolve().then(() => ({ records: records().slice(from), openings: openings.map((opening, party) => ({ party, opening })) })),
  };
}

function reading(...servers: ReturnType<typeof server>[]) {
  return new Reading(new Visit(), 'id', servers, () => Promise.resolve());
}

const away = new Error('away');

test('what two servers show is believed', async () => {
  const found = reading(server(['a', 'b']), server(away), server(['a', 'b']));
  const seen: number[] = [];
  await found.on((done) => seen.push(done));
  expect(found.isAgreed()).toBe(true);
  expect(found.records).toEqual(['a', 'b']);
  expect(seen).toEqual([1, 2]);
});

test('what one server shows alone is not believed yet', async () => {
  const alone = reading(server(['a', 'b']), server(away), server(['a']));
  await alone.on(() => undefined);
  expect(alone.isAgreed()).toBe(false);
  expect(alone.distrusted.size).toBe(0);
});

test('a server that shows a record which does not verify is named, and the others are read', async () => {
  const found = reading(server(['!', 'b']), server(['a', 'b']), server(['a', 'b']));
  await found.on(() => undefined);
  expect([...found.distrusted]).toEqual([[0, { finding: { kind: 'other' }, detail: '! is not signed' }]]);
  expect(found.isAgreed()).toBe(true);
});

test('if no two servers are left that show the same, nothing goes on', async () => {
  await expect(reading(server(['!']), server(['!']), server(['!'])).on(() => undefined)).rejects.toThrow(Refused);
  await expect(reading(server(['x', 'y']), server(['a', 'b']), server(['a', 'b'])).on(() => undefined)).rejects.toThrow(Refused);
});

test('a proof that does not hold refuses everything, whichever servers show it', async () => {
  const shown = ['a', '?'];
  await expect(reading(server(shown), server(shown), server(shown)).on(() => undefined)).rejects.toThrow('“Ben” signed');
});

test('servers that break off before the first record have shown nothing wrong', async () => {
  const broken = { ...server(['a']), records: () => Promise.reject(away) };
  const read = reading(broken, broken, broken).on(() => undefined);
  await expect(read).rejects.toThrow('did not answer');
  await expect(read).rejects.not.toThrow(Refused);
});

test('what a server says that does not open is kept, and forgotten when it does', async () => {
  const one = server(['a']);
  const refuses = { ...one, decision: async (): Promise<DecisionInfo> => ({ ...(await one.decision()), refusal }) };
  let refusal: string | null = 'a share is missing';
  const found = reading(refuses, server(['a']), server(['a']));
  await found.on(() => undefined);
  expect([...found.refusals]).toEqual([[0, 'a share is missing']]);
  refusal = null;
  await found.on(() => undefined);
  expect(found.refusals.size).toBe(0);
});

test('a decision that nobody knows is told from servers that are away', async () => {
  const unknown = new Problem(404, 'no such decision');
  await expect(reading(server(away), server(unknown), server(away)).on(() => undefined)).rejects.toBe(unknown);
  await expect(reading(server(away), server(away), server(away)).on(() => undefined)).rejects.toBe(away);
});

test('an opening that does not verify is passed over for another server’s', async () => {
  const found = reading(server(['a'], ['!', '1', '2']), server(['a'], ['0', '1', '2']), server(['a'], ['0']));
  await found.on(() => undefined);
  expect(found.opened()).toBe(3);
  expect(found.outcome()?.outputs).toEqual([1]);
  expect(found.distrusted.has(0)).toBe(true);
  expect(JSON.parse(found.proof())).toHaveLength(3);
});
