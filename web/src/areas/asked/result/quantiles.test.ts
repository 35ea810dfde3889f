import { expect, test } from 'vitest';

import { en } from '../../../i18n/en/ask';
import { placed } from './quantiles';
import { words } from '../words';

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
  const circuit = { circuit: '' };
  const { statistic } = en.asked;
  expect(words([{ quantile: 500 }, circuit])).toEqual([statistic.median, statistic.circuit]);
  expect(words([circuit], { atOnce: true })).toEqual([statistic.circuitOfAll]);
  expect(words([{ histogram: [1, 2] }], { named: true })).toEqual([statistic.choices]);
});
