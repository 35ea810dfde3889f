import { expect, test } from 'vitest';

import type { PastEpoch } from '../servers/operator';
import { bars, HEIGHT, stockPlot, stretches, WIDTH } from './plot';

const sample = (at: number, usable: number) => ({ at, usable });

test('a level holds until the next one is seen', () => {
  expect(stockPlot([])).toBeNull();
  expect(stockPlot([sample(5, 1)])).toBeNull();
  const plot = stockPlot([sample(0, 2), sample(10, 4), sample(20, 0)]);
  expect(plot?.line).toBe(
    `0,${HEIGHT / 2} ${WIDTH / 2},${HEIGHT / 2} ${WIDTH / 2},0 ${WIDTH},0 ${WIDTH},${HEIGHT}`,
  );
  expect(plot?.ticks.map(({ at }) => at)).toEqual([0, 10, 20]);
});

test('an empty stock has a plot, and an empty moment is not averaged away', () => {
  expect(stockPlot([sample(0, 0), sample(10, 0)])?.most).toBe(1);
  const many = Array.from({ length: 100 }, (_, n) => sample(n * 10, n === 57 ? 0 : 3));
  const few = stretches(many, 10);
  expect(few).toHaveLength(10);
  expect(few.filter(({ usable }) => usable === 0)).toEqual([sample(500, 0)]);
});

test('bars follow each other and fit the longest', () => {
  const epoch = (collect: number | null, mix: number | null, sign: number | null): PastEpoch => ({
    room: 'r',
    number: 1,
    outcome: 'published',
    slots: null,
    accepted: null,
    seconds: { collect, mix, sign },
  });
  const [long, unknown] = bars([epoch(6, 3, 1), epoch(null, null, null)]);
  expect(long).toEqual([
    { x: 0, width: 60 },
    { x: 60, width: 30 },
    { x: 90, width: 10 },
  ]);
  expect(unknown?.every(({ width }) => width === 0)).toBe(true);
});
