import { beforeAll, expect, test } from 'vitest';

import { loadForTest } from '../../test/world';
import { Problem } from './api';
import { retrying } from './retrying';

beforeAll(loadForTest);

const never = new AbortController().signal;

/** A clock on which no time passes; it adds up the pauses. */
function clock() {
  const time = {
    paused: 0,
    now: () => 0,
    sleep: (ms: number) => ((time.paused += ms), Promise.resolve()),
  };
  return time;
}

/** Something that fails so many times in this way. */
function failing(times: number, error: Error) {
  let tried = 0;
  const act = () => (tried++ < times ? Promise.reject(error) : Promise.resolve('done'));
  return { act, tried: () => tried };
}

test('what passes by itself is tried again after longer and longer pauses, and not for ever', async () => {
  for (const error of [
    new Problem(429, 'too much'),
    new Problem(503, 'restarting'),
    new Error('no network'),
  ]) {
    expect(await retrying(failing(3, error).act, clock(), never)).toBe('done');
    const always = failing(99, error);
    await expect(retrying(always.act, clock(), never)).rejects.toThrow(error.message);
    expect(always.tried()).toBeLessThan(10);
  }
  const time = clock();
  await retrying(failing(5, new Problem(429, 'too much')).act, time, never);
  expect(time.paused).toBeGreaterThanOrEqual(0.5 * 400 * 31);
});

test('what does not pass by itself is not tried again', async () => {
  const refused = failing(99, new Problem(422, 'wrong'));
  await expect(retrying(refused.act, clock(), never)).rejects.toThrow('wrong');
  expect(refused.tried()).toBe(1);
});
