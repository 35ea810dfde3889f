import { beforeAll, expect, test } from 'vitest';

import { loadForTest } from '../../../test/world';
import { trustOf, type Trust } from '../../servers/trust';
import { roomFor } from './crowd';

let trust: Trust;
beforeAll(() => {
  loadForTest();
  trust = trustOf('ruffle', 3);
});

test('how many are enough, and believed, is what the engine bears', () => {
  expect([0, 1, 2, 3, 4, 5].map((minimum) => trust.peopleFor(minimum))).toEqual([1, 2, 3, 5, 6, 8]);
  expect([trust.believed, trustOf('clarion', 3).believed]).toEqual([2, 2]);
  // Badly spread, more have to come.
  expect([trust.moreNeeded([3, 2, 0], 3), trust.moreNeeded([5, 0, 0], 3)]).toEqual([1, 3]);
  expect([trust.moreNeeded([2, 2, 1], 3), trust.moreNeeded([], 3)]).toEqual([0, 0]);
  // What this page does not know is believed of all servers together, and of nobody else.
  expect([trustOf('ruffle', 5).believed, trustOf('another', 3).believed]).toEqual([5, 3]);
});

test('three people are a group, and a group need not be whole', () => {
  for (let people = 1; people < 300; people++) {
    const { minimum, capacity } = roomFor(people, trust);
    expect(trust.peopleFor(minimum)).toBeGreaterThanOrEqual(3);
    expect(trust.peopleFor(minimum)).toBeLessThanOrEqual(Math.max(3, people));
    expect(trust.peopleFor(minimum)).toBeLessThanOrEqual(8);
    expect(capacity).toBeGreaterThanOrEqual(2 * people);
  }
  const enough = [3, 5, 8, 30].map((people) => trust.peopleFor(roomFor(people, trust).minimum));
  expect(enough).toEqual([3, 3, 5, 8]);
});
