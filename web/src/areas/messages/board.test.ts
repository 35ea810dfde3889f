// Reading the board of a room for messages against servers that lie or are behind.

import { expect, test } from 'vitest';

import type { Status } from '../../lib/servers/api';
import type { Report } from '../../lib/rooms/seen/statuses';
import { World, settled } from '../../test/world';
import { BACK, BEHIND, BoardOfRounds, lengthOf, overBy, type Reader } from './board';

function report(wishes: Partial<Status>, reachable = true): Report {
  const status: Status = {
    version: 1,
    epoch: null,
    mixing: [],
    last: null,
    may_have_opened: [],
    raw: '',
    present: [],
    places: [],
    board_length: 0,
    actions: 0,
    ...wishes,
  };
  return { reachable, status, came: 0, sealsAt: null };
}

const ended = (number: number, outcome: string) => ({ last: { number, outcome, detail: '' } });

test('one server alone makes no board longer', () => {
  const said = [report({ board_length: 900 }), report({ board_length: 4 })];
  expect(lengthOf([...said, report({ board_length: 3 })], 2)).toBe(4);
  expect(lengthOf([...said, report({ board_length: 3 })], 3)).toBe(3);
  expect(lengthOf([...said, report({ board_length: 3 }, false)], 2)).toBe(4);
  expect(lengthOf([report({ board_length: 900 }), report({}, false)], 2)).toBe(null);
});

test('a round is over by the word of two servers, once their boards were read', () => {
  const over = (reports: Report[], length: number, last: number | null) =>
    overBy(reports, length, last, 2);
  const failed = report({ board_length: 5, ...ended(9, 'too-few') });
  const published = report({ board_length: 5, ...ended(9, 'published') });
  expect(over([failed, failed, report({})], 5, 8)).toBe(9);
  expect(over([failed, report({}), report({})], 5, 8)).toBe(null);
  expect(over([failed, failed, report({})], 4, 8)).toBe(null);
  expect(over([published, published, report({})], 5, 8)).toBe(null);
  expect(over([published, published, report({})], 5, 9)).toBe(9);
  const mixing = report({ board_length: 5, ...ended(9, 'too-few'), mixing: [{ number: 8 }] });
  expect(over([mixing, mixing, report({})], 5, 7)).toBe(7);
});

/** Boards of so many entries at all servers, which are numbers, and who reads them. */
function scene(length: number) {
  const world = new World();
  const asked: number[] = [];
  const show = (until: number) => {
    for (const { party } of world.servers)
      world.statuses.take(party, {
        ...world.status({ number: until, ms: 1_000, present: [1, 1, 1] }),
        board_length: until,
      });
  };
  for (const server of world.servers)
    server.board = (_?: string, from = 0) => {
      asked.push(from);
      return Promise.resolve([from]);
    };
  let at = -1;
  const begun: number[] = [];
  const read: unknown[] = [];
  const reader: Reader = {
    begin: (index, entries) => {
      if (index > 0 && (JSON.parse(entries) as unknown[]).length < 2) return false;
      begun.push((at = index));
      return true;
    },
    length: () => at,
    lastRound: () => undefined,
    read: (entries) => {
      const list = JSON.parse(entries) as unknown[];
      at += list.length;
      read.push(...list);
      return '[]';
    },
    over: () => '[]',
  };
  const told = { read: () => undefined, alarm: () => undefined };
  const board = new BoardOfRounds('room', world.servers, world.statuses, reader, told);
  show(length);
  return { world, board, show, begun, read, asked };
}

test('it begins near the end, reads on, and begins anew after a long sleep', async () => {
  const { world, board, show, begun, read, asked } = scene(100);
  const leaving = new AbortController();
  const following = board.follow(leaving.signal);
  await settled();
  expect(begun).toEqual([100 - BACK]);
  await world.clock.advance(3_000);
  const all = (from: number, until: number) =>
    Array.from({ length: until - from }, (_, at) => from + at);
  expect(read).toEqual(all(100 - BACK, 100));
  show(102);
  await world.clock.advance(3_000);
  expect(read).toEqual(all(100 - BACK, 102));
  show(102 + 10 * BEHIND);
  await world.clock.advance(3_000);
  expect(begun).toEqual([100 - BACK, 102 + 10 * BEHIND - BACK]);
  expect(read.at(-1)).toBe(101 + 10 * BEHIND);
  expect(asked.length).toBeLessThan(60);
  leaving.abort();
  await following;
});

test('a short board is read from its beginning', async () => {
  const { board, begun } = scene(BACK);
  const leaving = new AbortController();
  const following = board.follow(leaving.signal);
  await settled();
  expect(begun).toEqual([0]);
  leaving.abort();
  await following;
});
