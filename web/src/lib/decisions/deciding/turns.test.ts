import { expect, test } from 'vitest';

import { Turns } from './turns.svelte';

/** Something that is over when `end` is called. */
function held() {
  let [end, fail] = [() => {}, (_: Error) => {}];
  const over = new Promise<void>((resolve, reject) => ([end, fail] = [resolve, reject]));
  return { act: () => over, end, fail };
}

test('answers that are given while the acceptance is not over yet are given after it', async () => {
  const turns = new Turns<'accept' | 'answer'>();
  const acceptance = held();
  const accepting = turns.take('accept', acceptance.act);
  let answered = 0;
  const answering = turns.take('answer', () => Promise.resolve(answered++));
  await Promise.resolve();
  expect([turns.now, turns.has('answer'), answered]).toEqual(['accept', true, 0]);
  acceptance.end();
  expect(await Promise.all([accepting, answering])).toEqual([true, true]);
  expect([turns.now, turns.has('answer'), answered]).toEqual([null, false, 1]);
});

test('what is asked for twice is done once, and may be asked for again when it is over', async () => {
  const turns = new Turns<'answer'>();
  const answer = held();
  let given = 0;
  const first = turns.take('answer', () => (given++, answer.act()));
  expect(await turns.take('answer', () => Promise.resolve(given++))).toBe(false);
  answer.end();
  await first;
  expect(given).toBe(1);
  expect(await turns.take('answer', () => Promise.resolve(given++))).toBe(true);
  expect(given).toBe(2);
});

test('what goes wrong is told to who asked for it, and holds nothing up', async () => {
  const turns = new Turns<'accept' | 'answer'>();
  const acceptance = held();
  const accepting = turns.take('accept', acceptance.act);
  const answering = turns.take('answer', () => Promise.resolve());
  acceptance.fail(new Error('away'));
  await expect(accepting).rejects.toThrow('away');
  expect(await answering).toBe(true);
  expect(turns.now).toBe(null);
});
