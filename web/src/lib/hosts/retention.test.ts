import { expect, test } from 'vitest';

import { erasureAt, isOver } from './retention';
import type { Report } from '../rooms/seen/statuses';

const at = (text: string) => Date.parse(text);

test('what is erased next, and when what is said now will be', () => {
  const now = at('2026-05-18T22:30:00Z');
  const { next, upTo, fresh } = erasureAt(now, 2);
  // The servers look every hour: what was published on the 16th has then been there on the whole of
  // the 17th and the 18th.
  expect(new Date(next).toISOString()).toBe('2026-05-19T01:00:00.000Z');
  expect(new Date(upTo).toISOString()).toBe('2026-05-16T00:00:00.000Z');
  expect(new Date(fresh).toISOString()).toBe('2026-05-21T01:00:00.000Z');
});

test('a text goes on the day that was named when it was published', () => {
  const published = at('2026-05-18T00:00:00Z');
  const { fresh } = erasureAt(published, 30);
  const before = erasureAt(fresh - 86_400_000, 30);
  expect(before.upTo).toBe(published);
  expect(before.next).toBe(fresh);
});

test('an epoch seems to be over as the server tells that is furthest behind, and never where none answers', () => {
  const room = { retention: 1, seconds: 3_600 };
  const says = (number: number, reachable = true) =>
    ({ reachable, status: { epoch: { number } }, sealsAt: null }) as Report;
  expect(isOver(6, room, [says(30), says(40)])).toBe(true);
  expect(isOver(7, room, [says(30), says(40)])).toBe(false);
  expect(isOver(7, room, [says(30, false), says(40)])).toBe(true);
  expect(isOver(0, { ...room, retention: null }, [says(40)])).toBe(false);
  for (const nobody of [[], [says(40, false)]]) expect(isOver(0, room, nobody)).toBe(false);
});
