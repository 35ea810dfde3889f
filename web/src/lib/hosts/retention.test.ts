import { expect, test } from 'vitest';

import { erasureAt } from './retention';

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
