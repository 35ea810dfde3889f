// Where quantiles stand in a picture of them.

/** A value below which so many thousandths of all answers lie. */
export interface Quantile {
  thousandths: number;
  value: number;
}

/** A quantile with its place, from 0 at the left to 100. */
export interface Placed extends Quantile {
  at: number;
}

/** The quantiles in ascending order, each once, from the least to the greatest of them. */
export function placed(quantiles: readonly Quantile[]): Placed[] {
  const each = [...new Map(quantiles.map((one) => [one.thousandths, one])).values()];
  each.sort((a, b) => a.thousandths - b.thousandths);
  const values = each.map(({ value }) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const span = Math.max(1, most - least);
  return each.map((one) => ({ ...one, at: (100 * (one.value - least)) / span }));
}
