import { beforeAll, expect, test } from 'vitest';

import { World, loadForTest, settled } from '../test/world';
import type { Status } from './api';
import { Wall, type Ledger, type Reading } from './wall';

beforeAll(loadForTest);

function ledger(valid: (entries: unknown[]) => boolean): Ledger & { taken: unknown[]; ended: number[]; waiting: number | undefined } {
  return {
    taken: [],
    ended: [],
    waiting: undefined,
    length() {
      return this.taken.length;
    },
    read(entries): Reading {
      if (!valid(entries)) throw new Error('entry 0 bears a signature that server 0 did not make');
      this.taken.push(...entries);
      return { entries: [], published: false, again: false };
    },
    undecided() {
      return this.waiting;
    },
    endedWithoutBoard(epoch) {
      this.ended.push(epoch);
      this.waiting = undefined;
    },
  };
}

function follow(world: World, book: Ledger) {
  const stop = new AbortController();
  const alarms: [number, string][] = [];
  const again: number[] = [];
  const events = { read: () => undefined, alarm: (party: number, why: string) => alarms.push([party, why]), again: (epoch: number) => again.push(epoch) };
  void new Wall('room', world.servers, world.statuses, book, events).follow(stop.signal);
  return { stop, alarms, again };
}

function say(world: World, party: number, change: Partial<Status>): void {
  world.statuses.take(party, { ...world.status({ number: 9, ms: 1_000, present: [] }), ...change });
}

test('a forged entry raises an alarm once, and the wall is read from another server', async () => {
  const world = new World();
  world.servers[0]!.board = () => Promise.resolve(['forged']);
  world.servers[1]!.board = () => Promise.resolve(['true']);
  const book = ledger((entries) => entries[0] === 'true');
  const { alarms, stop } = follow(world, book);
  for (const party of [0, 1]) say(world, party, { board_length: 1 });
  await world.clock.advance(10_000);
  expect(book.taken).toEqual(['true']);
  expect(alarms).toEqual([[0, 'entry 0 bears a signature that server 0 did not make']]);
  stop.abort();
});

test('what was read in another way meanwhile is not read again, and no forgery', async () => {
  const world = new World();
  const book = ledger((entries) => !entries.includes('first') || book.taken.length === 0);
  world.servers[0]!.board = () => {
    book.taken.push('first');
    return Promise.resolve(['first', 'second']);
  };
  const { alarms, stop } = follow(world, book);
  say(world, 0, { board_length: 2 });
  await world.clock.advance(10_000);
  expect(book.taken).toEqual(['first', 'second']);
  expect(alarms).toEqual([]);
  stop.abort();
});

test('a server that promises entries and gives none is not asked without pause', async () => {
  const world = new World();
  let asked = 0;
  world.servers[0]!.board = () => Promise.resolve((asked++, []));
  const { stop } = follow(world, ledger(() => true));
  say(world, 0, { board_length: 5 });
  await world.clock.advance(10_000);
  await settled();
  expect(asked).toBeGreaterThan(1);
  expect(asked).toBeLessThan(10);
  stop.abort();
});

test('one server alone cannot make the message be said again', async () => {
  const world = new World();
  const book = ledger(() => true);
  book.waiting = 4;
  const { again, stop } = follow(world, book);
  const ended = { last: { number: 4, outcome: 'too-few', detail: '' } };
  say(world, 0, ended);
  await world.clock.advance(5_000);
  expect(again).toEqual([]);
  say(world, 1, { last: { number: 4, outcome: 'published', detail: '' }, board_length: 0 });
  await world.clock.advance(5_000);
  expect(again).toEqual([]);
  say(world, 1, { ...ended, mixing: [{ number: 4 }] });
  await world.clock.advance(5_000);
  expect(again).toEqual([]);
  say(world, 2, ended);
  await world.clock.advance(5_000);
  expect(again).toEqual([4]);
  expect(book.ended).toEqual([4]);
  stop.abort();
});
