// What comes out, in words.

import { optional, record, list, count } from '../../lib/shape';
import { t } from '../../messages/ask';

const quantile = record({ quantile: optional(count), histogram: optional(list(count)) });

/** Each statistic of a question, as part of a sentence. */
export function words(statistics: readonly unknown[]): string[] {
  return statistics.map((statistic) => {
    const words = t.asked.statistic;
    if (statistic === 'sum') return words.sum;
    if (statistic === 'variance') return words.variance;
    if (typeof statistic !== 'object' || statistic === null) return words.other;
    const { quantile: thousandths, histogram } = quantile(statistic);
    if (thousandths === 500) return words.median;
    if (thousandths !== null) return words.quantile(thousandths);
    return histogram ? words.histogram(histogram.length + 1) : words.other;
  });
}
