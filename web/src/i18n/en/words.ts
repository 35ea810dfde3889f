// What the English sentences have in common.

export const several = (n: number, one: string, many: string) =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

export function duration(seconds: number): string {
  if (seconds < 90) return several(seconds, 'second', 'seconds');
  if (seconds < 5400) return several(Math.round(seconds / 60), 'minute', 'minutes');
  if (seconds < 129_600) return several(Math.round(seconds / 3600), 'hour', 'hours');
  return several(Math.round(seconds / 86_400), 'day', 'days');
}

/** A list as it is spoken: a, b and c. */
export const spoken = (words: string[]) => new Intl.ListFormat('en-GB').format(words);

/** The time of day, to the second. */
export const clock = (at: number) => new Date(at).toLocaleTimeString('en-GB');

/** A day and a time of day, in the reader's own zone. */
export const moment = (at: number) =>
  new Date(at).toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'short' });

/** The same for somebody who may be elsewhere: the zone is named. */
export const zoned = (at: number) =>
  new Intl.DateTimeFormat('en-GB', {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  }).format(at);

/** A day, in the reader's own zone. */
export const day = (at: number) => new Date(at).toLocaleDateString('en-GB', { dateStyle: 'long' });

/** A date of a poll: times in the reader's own zone, days as they are. */
export function span({ from, to, whole }: { from: number; to: number | null; whole: boolean }) {
  const time = whole ? ({ timeZone: 'UTC' } as const) : ({ timeStyle: 'short' } as const);
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', ...time });
  return to === null ? format.format(from) : format.formatRange(from, to);
}
