import { expect, test } from 'vitest';

import { en } from '../../messages/en/ask';
import { placed } from './quantiles';
import { words } from './words';

test('quantiles stand in their order and at their distance', () => {
  const quantiles = [
    { thousandths: 750, value: 40 },
    { thousandths: 500, value: 30 },
    { thousandths: 250, value: 20 },
    { thousandths: 500, value: 30 },
  ];
  expect(placed(quantiles).map(({ thousandths, at }) => [thousandths, at])).toEqual([
    [250, 0],
    [500, 50],
    [750, 100],
  ]);
  expect(placed([{ thousandths: 500, value: 7 }]).map(({ at }) => at)).toEqual([0]);
});

test('a circuit that reads all answers at once is told apart from one of each', () => {
  const each = { circuit: '\n3 7\n1 4\n2 1 2\n\n1 1 0 4 EQW\n' };
  const all = { circuit: '2 15\n6 2 2 2 2 2 3\n1 2\n\n1 1 0 13 EQW\n' };
  const { statistic } = en.asked;
  expect(words([{ quantile: 500 }, each, all])).toEqual([
    statistic.median,
    statistic.circuit,
    statistic.circuitOfAll,
  ]);
});
