import { expect, test } from 'vitest';

import { Problem } from '../../servers/api';
import { post, senderOf } from './mailing';

const request = {
  person: 1,
  address: 'ben@example.org',
  link: 'LINK',
  locale: 'en',
  signature: '00',
};
const signal = new AbortController().signal;

/** A clock on which no time passes; it counts the pauses. */
function clock() {
  const pauses: number[] = [];
  return { pauses, now: () => 0, sleep: (ms: number) => (pauses.push(ms), Promise.resolve()) };
}

/** A server that gives these answers, one after the other, and then takes everything. */
function server(...answers: unknown[]) {
  let asked = 0;
  return {
    asked: () => asked,
    mail: () =>
      asked++ < answers.length ? Promise.reject(answers[asked - 1] as Error) : Promise.resolve(),
  };
}

test('every refusal has a reason of its own', async () => {
  const cases = [
    [403, 'refused'],
    [404, 'none'],
    [409, 'over'],
    [422, 'address'],
    [500, 'refused'],
    [503, 'untaken'],
  ] as const;
  for (const [status, reason] of cases) {
    const one = server(new Problem(status, 'why'));
    expect(await post(one, 'id', request, clock(), signal)).toBe(reason);
    expect(one.asked()).toBe(1);
  }
  expect(await post(server(new Error('no network')), 'id', request, clock(), signal)).toBe('away');
  expect(await post(server(), 'id', request, clock(), signal)).toBe(null);
});

test('a busy server is asked again after a pause, and not for ever', async () => {
  const busy = new Problem(429, 'busy');
  const [time, twice] = [clock(), server(busy, busy)];
  expect(await post(twice, 'id', request, time, signal)).toBe(null);
  expect(time.pauses.length).toBe(2);
  const always = server(...Array.from({ length: 99 }, () => busy));
  expect(await post(always, 'id', request, clock(), signal)).toBe('busy');
  expect(always.asked()).toBeLessThan(10);
});

test('a message goes to the first server that sends any', async () => {
  const sends = (answer: boolean | Error) => ({
    sendsMail: () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)),
  });
  const [none, away, one] = [sends(false), sends(new Error('away')), sends(true)];
  expect(await senderOf([none, away, one, sends(true)])).toBe(one);
  expect(await senderOf([none, none])).toBe(null);
  // The one that is away may be the one that sends.
  expect(await senderOf([none, away])).toBe(undefined);
});
