// What comes out, in words.

import { optional, record, list, count, text } from '../../lib/servers/shape';
import { t } from '../../messages/ask';

const named = record({
  quantile: optional(count),
  histogram: optional(list(count)),
  circuit: optional(text),
});

/** Whether a circuit reads one answer at a time: its second line begins with how many it reads. */
function readsEach(circuit: string): boolean {
  const lines = circuit.split('\n').filter((line) => line.trim() !== '');
  return (lines[1] ?? '').trim().split(/\s+/)[0] === '1';
}

/** Each statistic of a question, as part of a sentence. */
export function words(statistics: readonly unknown[]): string[] {
  return statistics.map((statistic) => {
    const words = t.asked.statistic;
    if (statistic === 'sum') return words.sum;
    if (statistic === 'variance') return words.variance;
    if (typeof statistic !== 'object' || statistic === null) return words.other;
    const { quantile: thousandths, histogram, circuit } = named(statistic);
    if (circuit !== null) return readsEach(circuit) ? words.circuit : words.circuitOfAll;
    if (thousandths === 500) return words.median;
    if (thousandths !== null) return words.quantile(thousandths);
    return histogram ? words.histogram(histogram.length + 1) : words.other;
  });
}
