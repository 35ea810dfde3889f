// What came out of a graph, for everything that can be asked.

import { render } from 'svelte/server';
import { expect, test } from 'vitest';

import Outcome from './Outcome.svelte';
import { RANKS, type GraphResult } from './asking';

interface Asked {
  program: unknown;
  shown: unknown;
  noise?: { epsilon: number; bins: number };
}

const nothing: GraphResult = {
  contributors: 2,
  out: 0,
  missing: 0,
  counts: [],
  total: null,
  top: [],
  closed: false,
  liars: [],
  archive: '{}',
};

/** The text of the result, with one space between words. */
function shown({ program, shown, noise }: Asked, result: Partial<GraphResult>): string {
  const committee = { question: { program, shown, noise: noise ?? null }, names: ['a', 'b', 'c'] };
  const props = { committee, result: { ...nothing, ...result } } as never;
  const { body } = render(Outcome, { props });
  return body
    .replaceAll(/<!--.*?-->/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
}

const bars = (asked: Asked, result: Partial<GraphResult>): number[] => {
  const committee = { question: { noise: null, ...asked }, names: ['a', 'b', 'c'] };
  const { body } = render(Outcome, {
    props: { committee, result: { ...nothing, ...result } } as never,
  });
  return [...body.matchAll(/inline-size: ([\d.]+)%/g)].map(([, width]) => Number(width));
};

test('the number of connections is one number', () => {
  const text = shown({ program: 'edges', shown: 'counts' }, { total: 1234 });
  expect(text).toContain('1,234 connections');
  expect(text).toContain('of 2 contributions');
  expect(text).not.toContain('Value');
});

test('groups are shown by size, and the largest by their first vertex', () => {
  const program = { components: { hops: 4 } };
  const text = shown(
    { program, shown: 'vertices' },
    {
      counts: [
        [1, 2],
        [3, 1],
      ],
      top: [
        ['anna', 3],
        ['emil', 1],
      ],
    },
  );
  expect(text).toContain('How many groups have which size');
  expect(text).toContain('of 1 2 of 3 1');
  expect(text).toContain('The largest groups, by their first vertex anna : 3 emil : 1');
});

test('ranks are parts of all, and each of the first has a bar', () => {
  const asked = { program: { pagerank: { hops: 20 } }, shown: 'vertices' };
  const ranked: Partial<GraphResult> = {
    counts: [[RANKS / 2, 1]],
    top: [
      ['anna', RANKS / 2],
      ['ben', RANKS / 8],
    ],
  };
  const text = shown(asked, ranked);
  expect(text).toContain('The highest values');
  expect(text).toContain('anna 50%');
  expect(text).toContain('ben 12.5%');
  expect(text).not.toContain('How many vertices have which value');
  expect(bars(asked, ranked)).toEqual([85, 21.25]);
});

test('of the first ones each has a bar, and of the others nothing is told', () => {
  const asked = { program: 'in-degrees', shown: { top: 2 } };
  const first: Partial<GraphResult> = {
    counts: [
      [null, 7],
      [9, 1],
      [3, 1],
    ],
    top: [
      ['carl', 9],
      ['dora', 3],
    ],
  };
  const text = shown(asked, first);
  expect(text).toContain('Vertex Value carl 9 dora 3');
  expect(text).not.toContain('How many vertices');
  expect(text).not.toContain('7');
  const [most, less] = bars(asked, first);
  expect(less).toBeCloseTo((most ?? 0) / 3);
});

test('below a threshold it is told only how many there are', () => {
  const asked = { program: 'in-degrees', shown: { 'at-least': 5 } };
  const text = shown(asked, {
    counts: [
      [null, 6],
      [5, 1],
    ],
    top: [['anna', 5]],
  });
  expect(text).toContain('below 5 6');
  expect(text).toContain('anna : 5');
});

test('with noise all degrees from the last one on are counted together', () => {
  const asked = { program: 'in-degrees', shown: 'counts', noise: { epsilon: 1000, bins: 2 } };
  const counts: [number, number][] = [
    [0, 4],
    [1, 2],
    [2, 9],
  ];
  const text = shown(asked, { counts });
  expect(text).toContain('2 and more 9');
  expect(text).not.toContain('1 and more');
});

test('what is for who asked alone, and what too few have contributed to, is said so', () => {
  const asked = { program: 'edges', shown: 'counts' };
  expect(shown(asked, { closed: true, total: 5 })).toContain('it is for who asked alone');
  expect(shown(asked, { counts: null, missing: 3 })).toContain('3 more were needed');
  expect(shown(asked, { total: 5, liars: ['b'] })).toContain('b has sealed something else');
});
