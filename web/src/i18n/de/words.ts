// Was den deutschen Sätzen gemeinsam ist. Angeredet wird mit Du.

export const several = (n: number, one: string, many: string) =>
  `${n.toLocaleString('de')} ${n === 1 ? one : many}`;

export function duration(seconds: number): string {
  if (seconds < 90) return several(seconds, 'Sekunde', 'Sekunden');
  if (seconds < 5400) return several(Math.round(seconds / 60), 'Minute', 'Minuten');
  if (seconds < 129_600) return several(Math.round(seconds / 3600), 'Stunde', 'Stunden');
  return several(Math.round(seconds / 86_400), 'Tag', 'Tage');
}

/** Eine Aufzählung, wie man sie spricht: a, b und c. */
export const spoken = (words: string[]) => new Intl.ListFormat('de').format(words);

/** Die Uhrzeit auf die Sekunde. */
export const clock = (at: number) => new Date(at).toLocaleTimeString('de');

/** Ein Tag und eine Uhrzeit, in der Zeitzone der Lesenden. */
export const moment = (at: number) =>
  new Date(at).toLocaleString('de', { dateStyle: 'full', timeStyle: 'short' });

/** Dasselbe für jemanden, der anderswo sein kann: Die Zeitzone steht dabei. */
export const zoned = (at: number) =>
  new Intl.DateTimeFormat('de', {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  }).format(at);

/** Ein Tag, in der Zeitzone der Lesenden. */
export const day = (at: number) => new Date(at).toLocaleDateString('de', { dateStyle: 'long' });

/** Ein Termin: Zeiten in der Zeitzone der Lesenden, Tage, wie sie sind. */
export function span({ from, to, whole }: { from: number; to: number | null; whole: boolean }) {
  const time = whole ? ({ timeZone: 'UTC' } as const) : ({ timeStyle: 'short' } as const);
  const format = new Intl.DateTimeFormat('de', { dateStyle: 'full', ...time });
  return to === null ? format.format(from) : format.formatRange(from, to);
}
