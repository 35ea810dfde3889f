import type { Wall } from '../en/wall';
import { several } from './words';

export const de: Wall = {
  title: 'Die Wand',
  empty: 'Noch ist nichts veröffentlicht.',
  newest: 'neueste',
  epoch: (epoch: number) => `Epoche ${epoch}`,
  among: (n: number) => `gemischt unter ${n}`,
  verified: (signed: number, of: number) => `geprüft: von ${signed} der ${of} Server unterschrieben`,
  silent: (from: number, to: number) => (from === to ? `Epoche ${from}: niemand sprach` : `Epochen ${from} bis ${to}: niemand sprach`),
  older: 'Ältere Epochen zeigen',
  announce: (n: number) => `${several(n, 'neue Nachricht', 'neue Nachrichten')} an der Wand`,

  alarm: {
    title: 'Ein Server hat etwas Gefälschtes gezeigt',
    text: (server: string, reason: string) => `${server}: ${reason}. Es kam nicht an die Wand. Sag es den anderen in deiner Gruppe.`,
  },
};
