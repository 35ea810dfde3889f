// The picture of a result: how many vertices have which value.

/** Vertices with values in a range; with `null`, those that have none. */
export interface Bar {
  from: number | null;
  to: number | null;
  vertices: number;
}

/** How many bars are drawn at most, beside the one of vertices without a value. */
const MOST = 20;

/** The highest of any number of values, at least 0: a call has room for some thousands only. */
export function highest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

/** Bars of equal width, as few as there are values, and one for vertices without a value. */
export function barsOf(counts: readonly (readonly [number | null, number])[]): Bar[] {
  const known = counts.flatMap(([value, vertices]) =>
    value === null ? [] : [[value, vertices] as const],
  );
  const width = Math.floor(highest(known.map(([value]) => value)) / MOST) + 1;
  const bars = new Map<number, number>();
  for (const [value, vertices] of known) {
    const bin = Math.floor(value / width);
    bars.set(bin, (bars.get(bin) ?? 0) + vertices);
  }
  const drawn: Bar[] = [...bars]
    .sort(([a], [b]) => a - b)
    .map(([bin, vertices]) => ({ from: bin * width, to: (bin + 1) * width - 1, vertices }));
  const without = counts.find(([value]) => value === null);
  return without ? [...drawn, { from: null, to: null, vertices: without[1] }] : drawn;
}
