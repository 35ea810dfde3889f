// Points of plots, in the units of the picture.

import type { PastEpoch, Sample } from '../servers/operator';

export const WIDTH = 640;
export const HEIGHT = 180;

export interface Plot {
  /**
   * The line, as the `points` of a polyline: steps, since a level holds until the next one is seen.
   */
  line: string;
  /** The highest level. */
  most: number;
  /** Times, in seconds since 1970, and where they are. */
  ticks: { at: number; x: number }[];
}

/** The stock over time; `null` until there are two samples. */
export function stockPlot(samples: readonly Sample[]): Plot | null {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at <= first.at) return null;
  const most = Math.max(1, ...samples.map(({ usable }) => usable));
  const x = (at: number) => round(((at - first.at) / (last.at - first.at)) * WIDTH);
  const y = (usable: number) => round(HEIGHT - (usable / most) * HEIGHT);
  const steps = samples.flatMap(({ at, usable }, index) => {
    const before = samples[index - 1];
    return before
      ? [`${x(at)},${y(before.usable)}`, `${x(at)},${y(usable)}`]
      : [`${x(at)},${y(usable)}`];
  });
  const ticks = [0, 0.5, 1].map((part) => {
    const at = Math.round(first.at + part * (last.at - first.at));
    return { at, x: x(at) };
  });
  return { line: steps.join(' '), most, ticks };
}

/** The fewest batches of every stretch of time, for who reads numbers. */
export function stretches(samples: readonly Sample[], count: number): Sample[] {
  const size = Math.max(1, Math.ceil(samples.length / count));
  const found: Sample[] = [];
  for (let from = 0; from < samples.length; from += size) {
    const part = samples.slice(from, from + size);
    const at = part[0]?.at ?? 0;
    found.push({ at, usable: Math.min(...part.map(({ usable }) => usable)) });
  }
  return found;
}

export const PHASES = ['collect', 'mix', 'sign'] as const;

/**
 * The parts of an epoch's bar: where each begins and how long it is, in percent of the longest
 * epoch.
 */
export function bars(epochs: readonly PastEpoch[]): { x: number; width: number }[][] {
  const total = ({ seconds }: PastEpoch) =>
    PHASES.reduce((sum, phase) => sum + (seconds[phase] ?? 0), 0);
  const longest = Math.max(0.1, ...epochs.map(total));
  return epochs.map(({ seconds }) => {
    let x = 0;
    return PHASES.map((phase) => {
      const part = { x: round(x), width: round(((seconds[phase] ?? 0) / longest) * 100) };
      x += part.width;
      return part;
    });
  });
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
