import { expect, test } from 'vitest';

import { Problem } from '../servers/api';
import { fill, type Stock } from './onetime';
import { retrying } from '../servers/retrying';

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

/** A server that wants eight keys, has some, and fails at some of the makings. */
function server(stock: number, failing: number[] = []) {
  const given: number[] = [];
  let made = 0;
  const one: Stock = {
    level: () => Promise.resolve({ stock, wanted: 8 }),
    make: () =>
      failing.includes(++made)
        ? Promise.reject(new Error(`key ${made}`))
        : Promise.resolve(Uint8Array.of(made)),
    add: (keys) => (
      given.push(keys.length),
      (stock += keys.length),
      Promise.resolve({ stock, wanted: 8 })
    ),
  };
  return { ...one, given, stock: () => stock };
}

test('a stock is filled a few keys at a time, with pauses', async () => {
  const [time, empty] = [clock(), server(0)];
  expect(await fill(empty, Infinity, time, never)).toBe(8);
  expect(empty.given).toEqual([2, 2, 2, 2]);
  expect(time.paused).toBeGreaterThanOrEqual(7 * 200);
});

test('a stock gets what it lacks, or fewer if fewer are asked for', async () => {
  const cases = [
    [0, 1, 1],
    [5, Infinity, 3],
    [8, Infinity, 0],
    [3, 1, 0],
  ] as const;
  for (const [stock, most, added] of cases)
    expect(await fill(server(stock), most, clock(), never)).toBe(added);
});

test('what was handed in before a failure stays, and the rest is for the next visit', async () => {
  const failing = server(0, [6]);
  await expect(fill(failing, Infinity, clock(), never)).rejects.toThrow('key 6');
  expect(failing.stock()).toBe(4);
  expect(await fill(failing, Infinity, clock(), never)).toBe(4);
});

test('a page that is closed stops filling', async () => {
  const [closing, stopped] = [server(0), new AbortController()];
  const stops = { ...clock(), sleep: () => (stopped.abort(), Promise.resolve()) };
  await fill(closing, Infinity, stops, stopped.signal);
  expect(closing.stock()).toBe(1);
});

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
