import { expect, test } from 'vitest';

import { fromBase64, toBase64, type Status } from '../../servers/api';
import { Malformed, count, list, optional, record, text } from '../../servers/shape';
import { EMPTY_LOG, marksOf, type Marks } from '../../hosts/hostlog';
import { bytesOf, lettersLeft, normalised } from '../../page/text';
import { NOBODY } from '../../servers/trust';
import type { Report } from './following';
import {
  epochView,
  isClosed,
  isOpenable,
  mostPresent,
  nextEpoch,
  sections,
  shownEntry,
} from './view';
import type { WallEntry } from './following';

function entry(epoch: number, ...messages: string[]): WallEntry {
  return {
    epoch,
    accepted: 3,
    signers: [0, 1],
    messages,
    indices: messages.map((_, index) => index),
    erased: [],
    ballots: 0,
  };
}

test('the wall runs from the newest epoch to the oldest, and silence is told in one line', () => {
  const found = sections([entry(1), entry(2), entry(3, 'a'), entry(5), entry(6, 'b', 'c')]);
  expect(found).toEqual([
    { kind: 'spoken', entry: entry(6, 'b', 'c') },
    { kind: 'silent', from: 5, to: 5 },
    { kind: 'spoken', entry: entry(3, 'a') },
    { kind: 'silent', from: 1, to: 2 },
  ]);
});

function report(change: Partial<Status> | null, reachable = true): Report {
  const epoch = {
    number: 4,
    phase: 'collecting' as const,
    closes_in_ms: 900,
    assigned: 0,
    submitted: 0,
  };
  const status = {
    version: 1,
    epoch,
    mixing: [{ number: 3 }],
    last: null,
    present: [2, 3, 4],
    places: [2, 3, 4],
    board_length: 0,
    actions: 0,
    overdue: null,
  };
  return { reachable, status: change && { ...status, ...change }, came: 0, sealsAt: 1 };
}

test('a room is closed when two servers say so', () => {
  const closed = report({ epoch: null });
  const trust = { ...NOBODY, believed: 2 };
  expect(isClosed([closed, report({}), report({})], trust)).toBe(false);
  expect(isClosed([closed, report(null, false), report({}, false)], trust)).toBe(false);
  expect(isClosed([closed, report(null), closed], trust)).toBe(true);
  // Where two may lie, two are not believed.
  expect(isClosed([closed, report(null), closed], { ...NOBODY, believed: 3 })).toBe(false);
});

test("the epoch is the home server's, or of any that answers", () => {
  const away = report({}, false);
  const ahead = report({ epoch: null });
  expect(epochView([report({}), report({}), away], 0, 64)).toEqual({
    number: 4,
    waitsForStock: false,
    sealsAt: 1,
    mixing: [3],
    present: 5,
    missing: 0,
    taken: 0,
    overdue: null,
  });
  expect(epochView([away, report({}), report({})], 0, 64)?.present).toBe(7);
  expect(epochView([ahead, away, away], 0, 64)).toBeNull();
  expect(epochView([], undefined, 64)).toBeNull();
});

test('when an epoch is sealed is not one server’s word', () => {
  const says = (sealsAt: number | null, number = 4) => ({
    ...report({ epoch: { ...report({}).status!.epoch!, number } }),
    sealsAt,
  });
  const at = (...reports: Report[]) => epochView(reports, 0, 64)?.sealsAt;
  expect(at(says(1_000), says(9_000), says(9_100))).toBe(9_000);
  expect(at(says(900_000), says(9_000), says(9_100))).toBe(9_100);
  expect(at(says(9_000), says(1_000))).toBe(9_000);
  expect(at(says(1_000), says(9_000), says(9_100, 3))).toBe(9_000);
  expect(at(says(null), says(null))).toBeNull();
});

test('that the places of an epoch are taken is not one server’s word', () => {
  const trust = { ...NOBODY, believed: 2 };
  const says = (assigned: number, number = 4) =>
    report({ epoch: { ...report({}).status!.epoch!, number, assigned } });
  const taken = (...reports: Report[]) => epochView(reports, 0, 64, 0, trust)?.taken;
  expect(taken(says(24), says(23), says(24))).toBe(24);
  expect(taken(says(24), says(3), says(2))).toBe(3);
  expect(taken(says(24), says(24, 3), report(null, false))).toBe(0);
});

test('who is at a server that falls silent is not missed', () => {
  const trust = {
    ...NOBODY,
    moreNeeded: (present: number[]) => 9 - present.reduce((a, b) => a + b),
  };
  const missing = (...reports: Report[]) => epochView(reports, 0, 64, 3, trust)?.missing;
  const away = report({ present: [0, 64, 0] }, false);
  const knows = (at: number) => report({ present: [2, at, 4] });
  expect(missing(knows(3), report({}), knows(3))).toBe(0);
  expect(missing(knows(3), away, knows(3))).toBe(0);
  expect(missing(knows(0), away, knows(1))).toBe(2);
  expect(missing(away, away, away)).toBeUndefined();
});

test('whose word an epoch waits for is told by two servers, and by no one alone', () => {
  const trust = { ...NOBODY, believed: 2 };
  const says = (...by: number[]): Report => ({
    ...report({ overdue: { for_ms: 20_000 + by.length, by } }),
    came: 50_000,
  });
  const of = (...reports: Report[]) => epochView(reports, 1, 64, 0, trust)?.overdue;
  expect(of(report({}), says(0), says(0))).toEqual({
    number: 4,
    opening: false,
    since: 29_999,
    by: [0],
  });
  // Each knows of itself that it has spoken; only the one that both miss is silent.
  expect(of(says(1, 2), report({}, false), says(0, 1))?.by).toEqual([1]);
  expect(epochView([report({}), says(0), says(0)], 1, 64, 0, trust)?.sealsAt).toBeNull();
  expect(of(report({}), report({}), says(0))).toBeNull();
  expect(of(report({}), says(0), says(2))).toBeNull();
  // Earlier epochs are to be finished first.
  expect(of(report({}), says(), says())?.by).toEqual([]);
  const other = report({ epoch: { ...report({}).status!.epoch!, number: 3 } });
  const earlier = { ...other, status: { ...other.status!, overdue: { for_ms: 1, by: [0] } } };
  expect(of(report({}), says(0), earlier)).toBeNull();
});

test('whose word is missing to open an epoch is told by two servers, whatever the home says', () => {
  const trust = { ...NOBODY, believed: 2 };
  const epoch = { ...report({}).status!.epoch!, phase: 'waiting-for-stock' as const };
  const waits = report({ epoch });
  const says = (...by: number[]) => report({ epoch, overdue: { for_ms: 20_000, by } });
  const of = (...reports: Report[]) => epochView(reports, 0, 64, 0, trust)?.overdue;
  const told = { number: 4, opening: true, since: -20_000, by: [0] };
  expect(of(report({}), says(0), says(0))).toEqual(told);
  expect(of(waits, says(0), says(0))).toEqual(told);
  expect(of(waits, waits, says(0))).toBeNull();
  expect(of(waits, says(2), says(0))).toBeNull();
  // Two complaints of different things are no two of one.
  expect(of(waits, says(0), report({ overdue: { for_ms: 20_000, by: [0] } }))).toBeNull();
  // None is opened, so none is held up by earlier ones.
  expect(of(waits, says(), says())).toBeNull();
});

test('one server neither hides nor invents an epoch that waits for a word', () => {
  const trust = { ...NOBODY, believed: 2 };
  const epoch = (number: number) => ({ ...report({}).status!.epoch!, number });
  const says = (number: number, ...by: number[]) =>
    report({ epoch: epoch(number), overdue: { for_ms: 20_000, by } });
  const at = (home: number, ...reports: Report[]) => epochView(reports, home, 64, 0, trust);
  const told = { number: 4, waitsForStock: false, sealsAt: null, overdue: { number: 4, by: [0] } };
  const waiting = { ...epoch(4), phase: 'waiting-for-stock' as const };
  const liars = [
    says(Number.MAX_SAFE_INTEGER),
    says(Number.MAX_SAFE_INTEGER, 2),
    says(4, 2),
    report({ epoch: epoch(9) }),
    report({ epoch: null }),
    report(null),
    report({ epoch: waiting, overdue: { for_ms: 1, by: [2] } }),
  ];
  for (const liar of liars) {
    expect(at(0, liar, says(4, 0), says(4, 0))).toMatchObject(told);
    expect(at(2, says(4, 0), says(4, 0), liar)).toMatchObject(told);
    expect(at(0, liar, report({}), report({}))?.overdue ?? null).toBeNull();
  }
  // Of two that are told, the later one holds.
  const both = [says(4, 0), says(4, 0), says(5, 1), says(5, 1)];
  expect(at(0, ...both)?.overdue).toMatchObject({ number: 5, by: [1] });
});

test('while too few are there nobody knows when an epoch is sealed', () => {
  const reports = [report({ present: [1, 0, 0] }), report({ present: [0, 1, 0] }), report({})];
  const trust = (needed: number) => ({ ...NOBODY, moreNeeded: () => needed });
  expect(epochView(reports, 0, 64, 3, trust(1))).toMatchObject({ sealsAt: null, missing: 1 });
  expect(epochView(reports, 0, 64, 3, trust(0))).toMatchObject({ sealsAt: 1, missing: 0 });
});

test('no server makes the crowd larger than the room takes', () => {
  const boasts = report({ present: [2, 1_000_000, 4] });
  const log = { ...EMPTY_LOG, members: ['a', 'b', 'c'] };
  const present = (capacity: number, members: boolean) =>
    epochView([report({}), boasts, report({})], 0, mostPresent({ capacity, members }, log))
      ?.present;
  expect([present(64, false), present(64, true), present(2, true)]).toEqual([64, 3, 2]);
});

test('answers of another form are refused', () => {
  const shape = record({ n: count, names: list(text), more: optional(text) });
  expect(shape({ n: 1, names: ['a'], extra: true })).toEqual({ n: 1, names: ['a'], more: null });
  for (const wrong of [
    null,
    [],
    { n: -1, names: [] },
    { n: 2 ** 53, names: [] },
    { n: 1, names: [1] },
    { n: 1 },
  ]) {
    expect(() => shape(wrong)).toThrow(Malformed);
  }
});

test('bytes survive their way through text', () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  expect(fromBase64(toBase64(bytes))).toEqual(bytes);
  expect(toBase64(Uint8Array.of(251, 255))).toBe('-_8');
});

test('one way of writing each text', () => {
  expect(normalised('  e\u0301\r\nx ')).toBe('é\nx');
  expect(bytesOf('é')).toBe(2);
});

test('what is left is said in letters of the kind that is written', () => {
  expect(lettersLeft('', 254)).toBe(230);
  expect(lettersLeft('a'.repeat(20), 100)).toBe(100);
  expect(lettersLeft('ж'.repeat(20), 100)).toBe(50);
  expect(lettersLeft('🙂'.repeat(20), 30)).toBe(7);
});

test('what the host hides is counted, and what is erased is gone whatever else is noted', () => {
  const none = {
    hidden: false,
    approved: false,
    pinned: false,
    answered: false,
    erased: false,
    group: null,
  };
  const marks: Marks[] = [
    { ...none, epoch: 4, index: 1, hidden: true },
    { ...none, epoch: 4, index: 3, pinned: true },
    { ...none, epoch: 4, index: 5, erased: true, hidden: true },
    { ...none, epoch: 5, index: 0, hidden: true },
  ];
  const four = { ...entry(4, 'a', 'b', 'c', 'd'), indices: [0, 1, 3, 5], erased: [4] };
  const shown = shownEntry(four, marksOf({ ...EMPTY_LOG, marks }));
  expect(shown.cards.map(({ text, marks }) => [text, marks?.pinned ?? false])).toEqual([
    ['a', false],
    ['c', true],
  ]);
  expect([shown.hidden, shown.erased]).toEqual([1, 2]);
});

test('what is said after the shard was handed in enters the epoch after', () => {
  const view = {
    number: 4,
    waitsForStock: false,
    sealsAt: 1_000,
    mixing: [],
    present: 3,
    missing: 0,
    taken: 0,
    overdue: null,
  };
  expect(nextEpoch(view, { at: 'placed', home: 0, epoch: 4 }, 10)).toMatchObject({
    number: 4,
    sealsAt: 1_000,
  });
  expect(nextEpoch(view, { at: 'handed-in', home: 0, epoch: 4 }, 10)).toEqual({
    number: 5,
    sealsAt: 11_000,
  });
  expect(nextEpoch(view, { at: 'handed-in', home: 0, epoch: 3 }, 10)).toMatchObject({ number: 4 });
  expect(nextEpoch(null, { at: 'looking' }, 10)).toBeNull();
});

test('a server cannot put a script where its address belongs', () => {
  expect(isOpenable('https://a.example:7001')).toBe(true);
  for (const origin of ['javascript:alert(1)', 'https://a.example/path', 'data:text/html,x', ''])
    expect(isOpenable(origin)).toBe(false);
});
