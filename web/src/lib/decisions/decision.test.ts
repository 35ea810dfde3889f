import { expect, test } from 'vitest';

import {
  acquaintances,
  chosenDate,
  equals,
  isDatePoll,
  isMeasured,
  orderOf,
  placeOf,
  ruleName,
  spanLabel,
  spanOf,
  suitable,
  type Meaning,
  type View,
} from './decision';

const [early, late] = [Date.UTC(2027, 0, 2, 18), Date.UTC(2027, 0, 3, 18)];

function view(labels: string[]): View {
  const ballots = labels.map((label) => ({
    label,
    options: ['no', 'yes'],
    function: 'tally' as const,
    assumed: 0,
  }));
  return { ballots, seats: [{ account: 'aa' }, { invitation: 'bb' }] } as unknown as View;
}

const outcome = (...meanings: Meaning[]) => ({ outputs: meanings.map(() => 0), meanings });

const dateLabel = (from: number) => spanLabel({ from, to: null, whole: false });

test('times, days and ranges of both are read back, and other labels are left alone', () => {
  const labels = [
    dateLabel(early),
    '2027-01-02T18:00Z/2027-01-02T20:00Z',
    '2027-01-02',
    '2027-01-02/2027-01-05',
  ];
  for (const label of labels) {
    const span = spanOf(label);
    expect(span && spanLabel(span)).toBe(label);
  }
  const wrong = ['', 'Monday', '2027-01-02T18:00', '2027-13-02', '2027-01-05/2027-01-02'];
  wrong.push('2027-01-02/', '2027-01-02/2027-01-02', '2027-01-02/2027-01-03/2027-01-04');
  wrong.push('2027-01-02/2027-01-03T18:00Z', '2027-01-02T18:00Z/2027-01-03');
  for (const label of wrong) expect(spanOf(label), label).toBe(null);
  expect(isDatePoll(view(labels))).toBe(true);
  expect(isDatePoll(view([dateLabel(early), 'Monday']))).toBe(false);
});

const chosen = (...about: Parameters<typeof chosenDate>) => chosenDate(...about)?.from ?? null;

test('the date that suits most people is chosen, the earliest of equals, and none that suits nobody', () => {
  const poll = view([late, early].map(dateLabel));
  const counts = (yes: number): Meaning => ({ counts: [3 - yes, yes] });
  expect(chosen(poll, outcome(counts(2), counts(1)))).toBe(late);
  expect(chosen(poll, outcome(counts(2), counts(2)))).toBe(early);
  // Of equals none suits best, and that is not said of the earliest.
  expect([counts(2), counts(1)].map((other) => equals(outcome(counts(2), other)))).toEqual([2, 1]);
  expect(chosen(poll, outcome(counts(0), counts(0)))).toBe(null);
  expect(chosen(poll, outcome({ passed: true }, { passed: false }))).toBe(late);
});

test('a seat is found by the key of an account or of an invitation', () => {
  expect(placeOf(view(['']), 'bb')).toBe(1);
  expect(placeOf(view(['']), 'aa')).toBe(0);
  expect(placeOf(view(['']), 'cc')).toBe(null);
});

test('yes is shown before no, and more than two options as they are', () => {
  expect(orderOf({ options: ['no', 'yes'] })).toEqual([1, 0]);
  expect(orderOf({ options: ['a', 'b', 'c'] })).toEqual([0, 1, 2]);
  expect(ruleName({ 'at-least': { k: 2 } })).toBe('at-least');
});

test('only whoever decides, too, gets to know who has accepted by an account to be asked again', () => {
  const people = ['Anna', 'Ben', 'Carla'].map((name) => ({
    name,
    part: 'accepted' as const,
    verified: false,
  }));
  const seats = [{ account: 'a1' }, { account: 'b1' }, { invitation: 'c2' }];
  const decided = { people, seats, owners: ['a1', null, 'c1'] };
  expect(acquaintances(decided, 0)).toEqual([{ name: 'Anna', account: 'a1' }]);
  expect(acquaintances(decided, null)).toEqual([]);
});

test('what suits best is said of what was counted only', () => {
  const poll = view([dateLabel(early), dateLabel(late)]);
  expect(isMeasured(poll)).toBe(true);
  const ballots = poll.ballots.map((ballot) => ({ ...ballot, function: 'majority' as const }));
  expect(isMeasured({ ballots })).toBe(false);
  const passed = (...all: boolean[]) => ({
    outputs: all.map(Number),
    meanings: all.map((one) => ({ passed: one })),
  });
  expect(suitable(passed(true, false))).toBe(1);
  expect(suitable(passed(true, true))).toBe(2);
  expect(suitable(passed(false, false))).toBe(0);
});

test('if need be decides between dates that equally many can make', () => {
  const poll = view([dateLabel(early), dateLabel(late)]);
  const counted = (...all: number[][]) => ({
    outputs: all.map(() => 0),
    meanings: all.map((counts) => ({ counts })),
  });
  expect(chosen(poll, counted([2, 0, 3], [0, 2, 3]))).toBe(late);
  expect(chosen(poll, counted([2, 0, 3], [0, 3, 2]))).toBe(early);
  expect(chosen(poll, counted([5, 0, 0], [4, 1, 0]))).toBe(late);
});
