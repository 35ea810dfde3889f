// What comes out, in words.

import { optional, record, list, count, text } from '../../lib/servers/shape';
import { t } from '../../i18n/ask';

const shape = record({
  quantile: optional(count),
  histogram: optional(list(count)),
  top: optional(record({ places: count })),
  circuit: optional(text),
});

/**
 * Each statistic of a question, as part of a sentence; `atOnce` is whether a circuit reads all
 * answers at once, `named` whether numbers are those of choices.
 */
export function words(
  statistics: readonly unknown[],
  { atOnce = false, named = false } = {},
): string[] {
  return statistics.map((statistic) => {
    const words = t.asked.statistic;
    if (statistic === 'sum') return words.sum;
    if (statistic === 'variance') return words.variance;
    if (statistic === 'distinct') return words.distinct;
    if (typeof statistic !== 'object' || statistic === null) return words.other;
    const { quantile: thousandths, histogram, top, circuit } = shape(statistic);
    if (circuit !== null) return atOnce ? words.circuitOfAll : words.circuit;
    if (top) return words.top(top.places);
    if (thousandths === 500) return words.median;
    if (thousandths !== null) return words.quantile(thousandths);
    if (histogram && named) return words.choices;
    return histogram ? words.histogram(histogram.length + 1) : words.other;
  });
}
