import { expect, test } from 'vitest';

import { barsOf } from './bars';

test('few values have a bar each, and vertices without one come last', () => {
  expect(
    barsOf([
      [null, 4],
      [0, 1],
      [2, 7],
    ]),
  ).toEqual([
    { from: 0, to: 0, vertices: 1 },
    { from: 2, to: 2, vertices: 7 },
    { from: null, to: null, vertices: 4 },
  ]);
});

test('many values share bars of equal width, and no vertex is lost', () => {
  const counts = Array.from({ length: 100 }, (_, value) => [value, 2] as const);
  const bars = barsOf(counts);
  expect(bars.length).toBe(20);
  expect(bars[1]).toEqual({ from: 5, to: 9, vertices: 10 });
  expect(bars.reduce((sum, { vertices }) => sum + vertices, 0)).toBe(200);
  expect(barsOf([])).toEqual([]);
});

test('as many values as a graph has vertices are drawn', () => {
  const counts = Array.from({ length: 300_000 }, (_, value) => [value, 1] as const);
  const bars = barsOf(counts);
  expect(bars.length).toBe(20);
  expect(bars.reduce((sum, { vertices }) => sum + vertices, 0)).toBe(300_000);
});
