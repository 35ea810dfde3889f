import { expect, test } from 'vitest';

import { Choice, KINDS, kindsFor } from './wanted.svelte';

test('of contributions that are kept only that is asked for which they are lists', () => {
  expect(kindsFor({ undirected: true, longest: null })).toEqual(
    KINDS.filter((kind) => kind !== 'shortest'),
  );
  expect(kindsFor({ undirected: false, longest: null })).not.toContain('components');
  // Lists of lengths have other rows.
  expect(kindsFor({ undirected: true, longest: 4 })).toEqual(['shortest']);
});

test('a question starts from vertices that there are, and counts of few are not asked for', () => {
  const choice = new Choice();
  const of = (count: number) => ({ count, has: (name: string) => ['anna', 'ben'].includes(name) });
  expect(choice.wrong(of(12))).toBe('from');
  choice.from = 'anna, carl';
  expect(choice.wrong(of(12))).toBe('from');
  choice.from = 'anna, ben';
  expect([choice.wrong(of(12)), choice.wrong(of(11))]).toEqual([null, 'few']);
  choice.shown = 'vertices';
  expect(choice.wrong(of(11))).toBeNull();
  choice.kind = 'edges';
  choice.from = '';
  expect(choice.wrong(of(2))).toBeNull();
});

test('what is wanted is what the servers are asked, and noise is where it can hide something', () => {
  const choice = new Choice();
  Object.assign(choice, { kind: 'reach', from: 'anna', hops: 2, noisy: true, reader: 'all' });
  expect(choice.wanted()).toEqual({
    program: { reach: { from: ['anna'], hops: 2 } },
    shown: 'counts',
    noise: null,
    for_me: false,
  });
  Object.assign(choice, { kind: 'edges', epsilon: 0.5 });
  expect(choice.wanted()).toMatchObject({ program: 'edges', noise: { epsilon: 500, bins: 0 } });
  Object.assign(choice, { kind: 'in-degrees', shown: 'at-least', threshold: 7 });
  expect(choice.wanted()).toMatchObject({ shown: { 'at-least': 7 }, noise: null });
});
