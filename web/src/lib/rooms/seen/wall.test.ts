import { beforeAll, expect, test } from 'vitest';

import { World, loadForTest, settled } from '../../../test/world';
import type { Server, Status } from '../../servers/api';
import { Wall, type Ledger, type Reading } from './wall';

beforeAll(loadForTest);

function ledger(
  valid: (entries: unknown[]) => boolean,
): Ledger & { taken: unknown[]; ended: number[]; waiting: number | undefined } {
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
      return { entries: [], published: false, erased: false, again: false };
    },
    explained: () => false,
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
  const events = {
    read: () => undefined,
    alarm: (party: number, why: string) => alarms.push([party, why]),
    again: (epoch: number) => again.push(epoch),
  };
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
  const { stop } = follow(
    world,
    ledger(() => true),
  );
  say(world, 0, { board_length: 5 });
  await world.clock.advance(10_000);
  await settled();
  expect(asked).toBeGreaterThan(1);
  expect(asked).toBeLessThan(10);
  stop.abort();
});

test('whoever stops reading waits for no server', async () => {
  const world = new World();
  const silent: Server = world.servers[0]!;
  let asked = 0;
  silent.board = (_, __, signal) => {
    asked++;
    return new Promise((_, reject) =>
      signal?.addEventListener('abort', () => reject(new TypeError('aborted'))),
    );
  };
  say(world, 0, { board_length: 1 });
  const stop = new AbortController();
  const events = { read: () => undefined, alarm: () => undefined, again: () => undefined };
  const following = new Wall(
    'room',
    world.servers,
    world.statuses,
    ledger(() => true),
    events,
  ).follow(stop.signal);
  await settled();
  expect(asked).toBe(1);
  stop.abort();
  await following;
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

type Body = { kept: string } | { erased: string };
const entry = (number: number, ...messages: Body[]) => ({
  entry: { epoch: { number }, messages },
  signatures: [],
});
const said: Body = { kept: 'no' };
const gone: Body = { erased: 'digest' };

/** What a server shows of its board from a place on. */
function shows(world: World, party: number, from: (place: number) => unknown[]): void {
  const server: Server = world.servers[party]!;
  server.board = (_, place) => Promise.resolve(from(place));
}

test('bodies that one server keeps back are read from another one', async () => {
  const world = new World();
  shows(world, 0, () => [entry(1, gone, said), entry(2, said), entry(3, gone)]);
  shows(world, 1, () => [entry(1, said, said), entry(2, said), entry(3, said)]);
  const book = ledger(() => true);
  const { alarms, stop } = follow(world, book);
  for (const party of [0, 1]) say(world, party, { board_length: 3 });
  await world.clock.advance(5_000);
  expect(book.taken).toEqual([entry(1, said, said), entry(2, said), entry(3, said)]);
  expect(alarms).toEqual([]);
  stop.abort();
});

test('nobody is asked about what is known to be erased, and what is erased everywhere is read at once', async () => {
  const world = new World();
  let asked = 0;
  const erased = [entry(1, gone), entry(2, gone)];
  shows(world, 0, (place) => erased.slice(place));
  for (const party of [1, 2]) shows(world, party, (place) => (asked++, erased.slice(place)));
  const known = { ...ledger(() => true), explained: (epoch: number) => epoch <= 2 };
  const first = follow(world, known);
  for (const party of [0, 1, 2]) say(world, party, { board_length: 2 });
  await world.clock.advance(5_000);
  expect([known.taken, asked]).toEqual([erased, 0]);
  first.stop.abort();
  const unknown = ledger(() => true);
  const second = follow(world, unknown);
  await world.clock.advance(5_000);
  expect(unknown.taken).toEqual(erased);
  second.stop.abort();
});

test('an entry without bodies waits for a server that has not come so far, but not for ever', async () => {
  const world = new World();
  const book = ledger(() => true);
  shows(world, 0, (place) => [entry(1, said), entry(2, gone), entry(3, gone)].slice(place));
  let come = 1;
  shows(world, 1, (place) => [entry(1, said), entry(2, said)].slice(place, come));
  const { stop } = follow(world, book);
  say(world, 0, { board_length: 3 });
  say(world, 1, { board_length: come });
  await world.clock.advance(3_000);
  expect(book.taken).toEqual([entry(1, said)]);
  say(world, 1, { board_length: (come = 2) });
  await world.clock.advance(3_000);
  expect(book.taken).toEqual([entry(1, said), entry(2, said)]);
  await world.clock.advance(15_000);
  expect(book.taken).toEqual([entry(1, said), entry(2, said), entry(3, gone)]);
  stop.abort();
});

test('one silent server delays all entries that lack something once, and those that come later once more', async () => {
  const world = new World();
  const book = ledger(() => true);
  const lacking = [entry(1, gone), entry(2, said), entry(3, gone), entry(4, gone)];
  // It promises everything and gives nothing. The other one gives one entry at a time.
  shows(world, 0, () => []);
  shows(world, 1, (place) => lacking.slice(place, place + 1));
  const { stop } = follow(world, book);
  for (const party of [0, 1]) say(world, party, { board_length: 4 });
  await world.clock.advance(9_000);
  expect(book.taken).toEqual([]);
  await world.clock.advance(4_000);
  expect(book.taken).toEqual(lacking);
  lacking.push(entry(5, gone));
  say(world, 1, { board_length: 5 });
  await world.clock.advance(9_000);
  expect(book.taken).toHaveLength(4);
  await world.clock.advance(4_000);
  expect(book.taken).toEqual(lacking);
  stop.abort();
});

test('who forges what another server keeps back raises the alarm, and nobody else', async () => {
  const world = new World();
  const forged = entry(2, { kept: 'yes' });
  shows(world, 0, (place) => [entry(1, said), entry(2, gone), entry(3, said)].slice(place));
  shows(world, 1, (place) => [entry(1, said), forged, entry(3, said)].slice(place));
  const book = ledger((entries) => !entries.includes(forged));
  const { alarms, stop } = follow(world, book);
  for (const party of [0, 1]) say(world, party, { board_length: 3 });
  await world.clock.advance(5_000);
  expect(book.taken).toEqual([entry(1, said), entry(2, gone), entry(3, said)]);
  expect(alarms.map(([party]) => party)).toEqual([1]);
  stop.abort();
});
