import { describe, expect, test } from 'vitest';

import { canSpread, sharesIn, statisticsOf } from './statistics';

describe('shares in percent', () => {
  test('are read with either point, and with signs or without', () => {
    expect(sharesIn('')).toEqual([]);
    expect(sharesIn(' 10  90% 99.5\n2,5; 0, 100')).toEqual([100, 900, 995, 25, 0, 1000]);
  });

  test('that are none are refused', () => {
    for (const wrong of ['ten', '101', '-1', '10-20']) expect(sharesIn(wrong)).toBeNull();
  });
});

test('every quantile is asked for once, and deviations of small numbers', () => {
  const wanted = {
    median: true,
    quartiles: true,
    mean: false,
    deviation: true,
    histogram: false,
  };
  expect(statisticsOf(wanted, [900, 250, 900], 99)).toEqual([
    { quantile: 500 },
    { quantile: 250 },
    { quantile: 750 },
    { quantile: 900 },
    'variance',
  ]);
  expect(canSpread(2 ** 24 - 1)).toBe(true);
  expect(canSpread(2 ** 24)).toBe(false);
});
