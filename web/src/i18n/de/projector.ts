import type { Projector } from '../en/projector';
import { duration, several, spoken } from './words';

export const de: Projector = {
  connecting: 'Die Schlüssel der Server werden mit dem Link verglichen …',
  join: 'Mach mit',
  at: (origin: string) => `Scanne, oder gib bei ${origin} diesen Code ein:`,
  qr: 'QR-Code mit dem Link zum Raum',
  members: 'Für Mitglieder mit Einladung. Andere lesen mit.',
  present: (n: number) => several(n, 'Person', 'Personen'),
  presentHint: (n: number) =>
    `${n === 1 ? 'nimmt' : 'nehmen'} teil, so sagen es die Server; was zählt, steht neben jeder Nachricht`,
  epoch: (n: number) => `Epoche ${n}`,
  seals: (seconds: number) => `versiegelt in ${duration(seconds)}`,
  sealing: 'wird versiegelt',
  company: 'wartet auf Einwürfe',
  overdue: (names: string[]) =>
    names.length === 0
      ? 'wartet auf frühere Epochen; verloren ist nichts'
      : `wartet auf das Wort von ${spoken(names)}; verloren ist nichts`,
  waits: (here: number, expected: number | null, missing: number) =>
    `${here}${expected === null ? '' : ` von etwa ${expected}`} ${here === 1 ? 'ist' : 'sind'} da; noch ${missing}, dann erscheinen Nachrichten`,
  practice: 'Zum Üben, ohne Menge: Was eine einzelne Person sagt, ist als ihres zu erkennen.',
  stock: 'Server bereiten Masken vor',
  unknown: 'kein Server antwortet',
  closed: 'Dieser Raum ist geschlossen.',
  pinned: 'angeheftet',
  answered: 'beantwortet',
  newest: 'neueste',
  among: (n: number) => `unter ${n}`,
  empty: 'Noch ist nichts veröffentlicht.',
  emptyHint:
    'Was ihr schreibt, erscheint hier zusammen mit dem der anderen, in einer Reihenfolge, die niemand kennt.',
  hidden: (n: number) => `${several(n, 'Nachricht', 'Nachrichten')} von der Leitung verborgen`,
  poll: 'Umfrage',
  answerNow: 'Antworte auf deinem Gerät',
  wordsConcealed: 'Antworten in Worten liest zuerst die Leitung.',
  announce: (n: number) => several(n, 'neue Nachricht', 'neue Nachrichten'),

  controls: {
    label: 'Leinwand',
    full: 'Ganzer Bildschirm',
    window: 'Ganzen Bildschirm verlassen',
    show: 'Zeigen',
    automatic: 'Umfrage und Wand',
    wall: 'Nur die Wand',
    poll: 'Nur die Umfrage',
    larger: 'Größere Schrift',
    smaller: 'Kleinere Schrift',
  },
};
