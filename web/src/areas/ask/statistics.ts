// What somebody wants to have computed of numbers, as the servers are asked for it.

import { boundsOf } from '../asked/asking';

/** Of larger numbers squares are not added up. */
const MOST_SPREAD = 2 ** 24;
/** Bins of a histogram. */
const BINS = 10;

/** What is ticked, and the shares that somebody has written besides. */
export interface Wanted {
  median: boolean;
  quartiles: boolean;
  mean: boolean;
  deviation: boolean;
  histogram: boolean;
}

/** Shares in percent, with one digit after the point, as thousandths; null if one is none. */
export function sharesIn(text: string): number[] | null {
  const written = text.split(/[\s;]+/).filter((share) => share !== '');
  const shares = written.map((share) =>
    Math.round(10 * Number(share.replace(/[,.]?%?$/, '').replace(',', '.'))),
  );
  return shares.every((share) => share >= 0 && share <= 1000) ? shares : null;
}

/** Whether the deviation of numbers up to `largest` can be computed. */
export const canSpread = (largest: number) => largest < MOST_SPREAD;

/** The statistics of numbers up to `largest`, each once. */
export function statisticsOf(wanted: Wanted, shares: number[], largest: number): unknown[] {
  const quantiles = new Set([
    ...(wanted.median ? [500] : []),
    ...(wanted.quartiles ? [250, 750] : []),
    ...shares,
  ]);
  return [
    ...[...quantiles].map((quantile) => ({ quantile })),
    ...(wanted.mean ? ['sum'] : []),
    ...(wanted.deviation ? ['variance'] : []),
    ...(wanted.histogram ? [{ histogram: boundsOf(largest, Math.min(BINS, largest)) }] : []),
  ];
}
