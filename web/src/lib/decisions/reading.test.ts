import { expect, test } from 'vitest';

import { Problem } from '../servers/api';
import type { DecisionInfo } from './decisions';
import { Reading, Refused } from './reading';

/**
 * A history in which a record's digest is its own text; `!` does not verify when it is read, `?`
 * when its proof is. Of openings, those with `!` are wrong, those with `#` are malformed, and those
 * with `-` stand in for nobody.
 */
class Visit {
  private readonly read_: string[] = [];
  private found: string | undefined;
  /** How often a result was computed. */
  results = 0;

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
    this.results++;
    this.found = undefined;
    if (openings.includes('#')) throw new Error('malformed');
    const wrong = (JSON.parse(openings) as { party: number; opening: string }[]).find(
      ({ opening }) => opening.includes('!'),
    );
    if (wrong) {
      this.found = JSON.stringify({ kind: 'opening', party: wrong.party });
      throw new Error(`the opening of server ${wrong.party} is wrong`);
    }
    if (openings.includes('-')) {
      this.found = '{"kind":"no-result"}';
      throw new Error('there is no result: too few stand in');
    }
    return '{"outputs":[1],"meanings":[{"passed":true}]}';
  }

  finding(): string | undefined {
    return this.found;
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
      Promise.resolve().then(() => ({
        records: records().length,
        head: records().at(-1) ?? '',
        stage: openings.length > 0 ? 'closed' : 'answering',
        refusal: null,
      })),
    records: (_: string, from: number) =>
      Promise.resolve().then(() => ({
        records: records().slice(from),
        openings: openings.map((opening, party) => ({ party, opening })),
      })),
  };
}

function reading(...servers: ReturnType<typeof server>[]) {
  return new Reading(new Visit(), 'id', servers, 2, () => Promise.resolve());
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
  expect(alone.records).toEqual(['a']);
  expect(alone.hasMore()).toBe(true);
  expect(alone.distrusted.size).toBe(0);
  const first = reading(server(['a']), server(away), server(away));
  await first.on(() => undefined);
  expect(first.isAgreed()).toBe(false);
});

test('a server that shows a record which does not verify is named, and the others are read', async () => {
  const found = reading(server(['!', 'b']), server(['a', 'b']), server(['a', 'b']));
  await found.on(() => undefined);
  expect([...found.distrusted]).toEqual([
    [0, { finding: { kind: 'different' }, detail: 'the server alone shows this record 0: !' }],
  ]);
  expect(found.isAgreed()).toBe(true);
});

test('if no two servers are left that show the same, nothing goes on', async () => {
  await expect(
    reading(server(['!']), server(['!']), server(['!'])).on(() => undefined),
  ).rejects.toThrow(Refused);
});

test('a server’s private record is put aside, and the page goes on with the two others', async () => {
  const honest = ['a', 'b'];
  const found = reading(server(['a', 'b', 'X', 'Y']), server(honest), server(honest));
  await found.on(() => undefined);
  expect([found.records, found.hasMore(), found.distrusted.size]).toEqual([['a', 'b'], true, 0]);
  honest.push('c', 'd');
  await found.on(() => undefined);
  expect(found.records).toEqual(['a', 'b', 'c', 'd']);
  // The record that it signed is kept as evidence.
  expect([...found.distrusted.entries()].map(([party, { detail }]) => [party, detail])).toEqual([
    [0, 'the server alone shows this record 2: X'],
  ]);
  expect(found.hasMore()).toBe(false);
});

test('a proof that does not hold refuses everything, whichever servers show it', async () => {
  const shown = ['a', '?'];
  await expect(
    reading(server(shown), server(shown), server(shown)).on(() => undefined),
  ).rejects.toThrow('“Ben” signed');
});

test('servers that break off before the first record have shown nothing wrong', async () => {
  const broken = { ...server(['a']), records: () => Promise.reject(away) };
  const read = reading(broken, broken, broken).on(() => undefined);
  await expect(read).rejects.toThrow('did not answer');
  await expect(read).rejects.not.toThrow(Refused);
});

test('what a server says that does not open is kept, and forgotten when it does', async () => {
  const one = server(['a']);
  const refuses = {
    ...one,
    decision: async (): Promise<DecisionInfo> => ({ ...(await one.decision()), refusal }),
  };
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
  await expect(
    reading(server(away), server(unknown), server(away)).on(() => undefined),
  ).rejects.toBe(unknown);
  await expect(reading(server(away), server(away), server(away)).on(() => undefined)).rejects.toBe(
    away,
  );
});

test('an opening that does not verify is passed over for another server’s', async () => {
  const found = reading(
    server(['a'], ['!', '1', '2']),
    server(['a'], ['0', '1', '2']),
    server(['a'], ['0']),
  );
  await found.on(() => undefined);
  expect(found.opened()).toBe(3);
  expect(found.outcome()?.outputs).toEqual([1]);
  expect(found.distrusted.has(0)).toBe(true);
  expect(found.unresolved).toBe(null);
  expect(JSON.parse(found.proof()).map(({ opening }: { opening: string }) => opening)).toEqual([
    '0',
    '1',
    '2',
  ]);
});

/** What comes of the openings that each of three servers shows. */
async function opened(...shown: string[][]) {
  const found = reading(...shown.map((openings) => server(['a'], openings)));
  await found.on(() => undefined);
  return { found, outcome: found.outcome() };
}

test('if too few stand in for somebody there is no result, and that is no server’s fault', async () => {
  const { found, outcome } = await opened(['0', '1-', '2-'], ['0', '1-', '2-'], ['0', '1-', '2-']);
  expect(outcome).toBe(null);
  expect(found.unresolved?.detail).toBe('there is no result: too few stand in');
  expect(found.distrusted.size).toBe(0);
  expect(found.visit.results).toBe(1);
  // The page goes on being there.
  await found.on(() => undefined);
  expect(found.outcome()).toBe(null);
  expect(found.isAgreed()).toBe(true);
});

test('one server alone does not make believe that there is no result', async () => {
  const held = await opened(['0', '1-', '2-'], ['0', '1', '2'], ['0', '1', '2']);
  expect([held.outcome?.outputs, held.found.unresolved, held.found.distrusted.size]).toEqual([
    [1],
    null,
    0,
  ]);
  const alone = await opened(['0', '1-', '2-'], ['0'], ['0']);
  expect([alone.outcome, alone.found.unresolved, alone.found.distrusted.size]).toEqual([
    null,
    null,
    0,
  ]);
});

test('a wrong opening that two servers show is its author’s fault, not theirs', async () => {
  const { found, outcome } = await opened(['0', '1', '2!'], ['0', '1', '2!'], ['0', '1']);
  expect(outcome).toBe(null);
  expect([...found.distrusted.keys()]).toEqual([2]);
  expect(found.distrusted.get(2)?.finding).toEqual({ kind: 'opening', party: 2 });
  expect(found.unresolved?.finding).toEqual({ kind: 'opening', party: 2 });
  await found.on(() => undefined);
  expect([...found.distrusted.keys()]).toEqual([2]);
});

test('whoever makes up another server’s opening is named, and not its author', async () => {
  const { found, outcome } = await opened(['0', '1!', '2'], ['0', '1', '2'], ['0', '1', '2']);
  expect(outcome?.outputs).toEqual([1]);
  expect([...found.distrusted.keys()]).toEqual([0]);
});

test('who is to blame for a wrong opening that one server shows so far is not certain yet', async () => {
  const { found, outcome } = await opened(['0', '1!', '2'], ['0'], ['0', '2']);
  expect([outcome, found.unresolved, found.distrusted.size]).toEqual([null, null, 0]);
});

test('openings that are malformed are the fault of whoever shows them', async () => {
  const { found, outcome } = await opened(['0', '1#', '2'], ['0', '1', '2'], ['0']);
  expect(outcome?.outputs).toEqual([1]);
  expect([...found.distrusted.keys()]).toEqual([0]);
});
