import { expect, test } from 'vitest';

import { moreNeeded, peopleFor, roomFor } from './crowd';

test('a number of people is enough or not, however they are spread evenly', () => {
  expect([0, 1, 2, 3, 4, 5].map(peopleFor)).toEqual([1, 2, 3, 5, 6, 8]);
  for (let minimum = 0; minimum < 9; minimum++)
    for (let all = 1; all < 30; all++) {
      const spread = [0, 1, 2].map((server) => Math.floor((all + server) / 3));
      for (const present of [spread, spread.toReversed()])
        expect(moreNeeded(present, minimum)).toBe(Math.max(0, peopleFor(minimum) - all));
    }
});

test('badly spread, more have to come', () => {
  expect(moreNeeded([3, 2, 0], 3)).toBe(1);
  expect(moreNeeded([5, 0, 0], 3)).toBe(3);
});

test('three people are a group, and a group need not be whole', () => {
  for (let people = 1; people < 300; people++) {
    const { minimum, capacity } = roomFor(people);
    expect(peopleFor(minimum)).toBeGreaterThanOrEqual(3);
    expect(peopleFor(minimum)).toBeLessThanOrEqual(Math.max(3, people));
    expect(peopleFor(minimum)).toBeLessThanOrEqual(8);
    expect(capacity).toBeGreaterThanOrEqual(2 * people);
  }
  expect([3, 5, 8, 30].map((people) => peopleFor(roomFor(people).minimum))).toEqual([3, 3, 5, 8]);
});
