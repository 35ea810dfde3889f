import { afterEach, beforeEach, expect, test } from 'vitest';

import { VirtualClock } from '../../../test/world';
import { Attention, UNSEEN, UNTOUCHED } from './attention';

let clock: VirtualClock;
let stop: AbortController;
let visible: boolean;
let sign: () => void;
let path: string[];

beforeEach(() => {
  [clock, stop, visible, path] = [new VirtualClock(), new AbortController(), true, []];
  const senses = {
    visible: () => visible,
    watch: (callback: () => void) => void (sign = callback),
  };
  const attention = new Attention(senses, clock, stop.signal);
  const part = async (signal: AbortSignal) => {
    path.push('takes part');
    await clock.sleep(Infinity, signal);
  };
  void attention.during(stop.signal, part, () => path.push('rests'));
});

afterEach(() => stop.abort());

function cover(yes: boolean): void {
  visible = !yes;
  sign();
}

test('a page that nobody touches rests, and takes part again at a sign of life', async () => {
  await clock.advance(UNTOUCHED - 1_000);
  sign();
  await clock.advance(UNTOUCHED - 1_000);
  expect(path).toEqual(['takes part']);
  await clock.advance(2_000);
  expect(path).toEqual(['takes part', 'rests']);
  sign();
  await clock.advance(1_000);
  expect(path).toEqual(['takes part', 'rests', 'takes part']);
});

test('a covered page rests sooner, and not before', async () => {
  await clock.advance(60_000);
  cover(true);
  await clock.advance(UNSEEN - 1_000);
  expect(path).toEqual(['takes part']);
  await clock.advance(2_000 + UNSEEN / 10);
  expect(path).toEqual(['takes part', 'rests']);
  await clock.advance(UNTOUCHED);
  expect(path).toEqual(['takes part', 'rests']);
  cover(false);
  await clock.advance(1_000);
  expect(path).toEqual(['takes part', 'rests', 'takes part']);
});

test('a page that is covered now and then goes on', async () => {
  for (let hour = 0; hour < 6; hour++) {
    cover(true);
    await clock.advance(UNSEEN / 2);
    cover(false);
    await clock.advance(UNSEEN / 2);
  }
  expect(path).toEqual(['takes part']);
});
