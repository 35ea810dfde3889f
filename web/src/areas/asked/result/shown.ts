// Answers as they are shown: numbers with their names, and bars.

import { t } from '../../../i18n/ask';
import type { Answer, Bin, Place } from '../asking';
import type { Quantile } from './quantiles';

/** A bar of a picture. */
export interface Bar {
  name: string;
  count: number;
}

/** What is shown as a number each, with its name, of so many reports. */
export function numbers(answers: readonly Answer[], reports: number): [string, string][] {
  const rounded = (value: number) => t.number(Math.round(100 * value) / 100);
  const all = answers.flatMap((answer): [string, string][] => {
    switch (answer.kind) {
      case 'quantile': {
        const { thousandths, value } = answer;
        const name = thousandths === 500 ? t.result.median : t.result.quantile(thousandths);
        return [[name, t.number(value)]];
      }
      case 'sum':
        return [
          [t.result.sum, t.number(answer.sum)],
          [t.result.mean, rounded(answer.sum / Math.max(1, reports))],
        ];
      case 'spread':
        return [
          [t.result.mean, rounded(answer.mean)],
          [t.result.deviation, rounded(answer.deviation)],
        ];
      case 'circuit':
        return answer.values.map((value, i) => [t.result.circuit(i + 1), t.number(value)]);
      case 'distinct':
        return [[t.result.distinct, t.result.about(answer.estimate)]];
      default:
        return [];
    }
  });
  // Who asks for the sum and the deviation gets the mean with each.
  return all.filter(([name], i) => all.findIndex(([other]) => other === name) === i);
}

/** Quantiles among the answers. */
export const quantiles = (answers: readonly Answer[]): Quantile[] =>
  answers.flatMap((answer) => (answer.kind === 'quantile' ? [answer] : []));

/** Pictures among the answers, each with its title. `names` are those of the numbers, if any. */
export function pictures(answers: readonly Answer[], names: readonly string[]): [string, Bar[]][] {
  return answers.flatMap((answer): [string, Bar[]][] => {
    if (answer.kind === 'histogram')
      return [[t.result.histogram, answer.bins.flatMap((bin) => ranged(bin, names))]];
    if (answer.kind === 'top')
      return [[t.result.top, answer.places.map((place) => ranked(place, names))]];
    return [];
  });
}

/** A bin; of named numbers what lies beyond them is shown only if somebody has reported it. */
function ranged({ from, to, count }: Bin, names: readonly string[]): Bar[] {
  if (names.length === 0) return [{ name: t.result.bin(from, to), count }];
  const name = names[from];
  if (name !== undefined && (to === from + 1 || from === names.length - 1))
    return [{ name, count }];
  return count === 0 ? [] : [{ name: t.result.bin(from, to), count }];
}

const ranked = ({ candidate, count }: Place, names: readonly string[]): Bar => ({
  name: names[candidate] ?? t.number(candidate),
  count,
});

/** What a group's bar shows: a number for each answer that has one. */
export function measure(answer: Answer, reports: number): number | null {
  switch (answer.kind) {
    case 'quantile':
      return answer.value;
    case 'sum':
      return answer.sum / Math.max(1, reports);
    case 'spread':
      return answer.mean;
    case 'circuit':
      return answer.values[0] ?? null;
    default:
      return null;
  }
}

/** The name of what {@link measure} tells. */
export function measured(answer: Answer): string {
  switch (answer.kind) {
    case 'quantile':
      return numbers([answer], 1)[0]?.[0] ?? '';
    case 'circuit':
      return t.result.circuit(1);
    default:
      return t.result.mean;
  }
}
