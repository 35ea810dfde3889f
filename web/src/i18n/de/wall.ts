import type { Wall } from '../en/wall';
import { several } from './words';

export const de: Wall = {
  title: 'Die Wand',
  empty: 'Noch ist nichts veröffentlicht.',
  newest: 'neueste',
  epoch: (epoch: number) => `Epoche ${epoch}`,
  among: (n: number) => `gemischt unter ${n}`,
  verified: (signed: number, of: number) =>
    `geprüft: von ${signed} der ${of} Server unterschrieben`,
  silent: (from: number, to: number) =>
    from === to ? `Epoche ${from}: niemand sprach` : `Epochen ${from} bis ${to}: niemand sprach`,
  older: 'Ältere Epochen zeigen',
  announce: (n: number) => `${several(n, 'neue Nachricht', 'neue Nachrichten')} an der Wand`,

  pinnedTitle: 'Von der Leitung angeheftet',
  pinned: 'angeheftet',
  answered: 'beantwortet',
  hidden: (n: number) => `${several(n, 'Nachricht', 'Nachrichten')} von der Leitung verborgen`,
  erased: (n: number) =>
    `${several(n, 'Nachricht', 'Nachrichten')} gelöscht; die Prüfsumme bleibt in der Kette`,
  ballots: (n: number) => several(n, 'Antwort auf eine Umfrage', 'Antworten auf eine Umfrage'),
  votes: (n: number) => several(n, 'Stimme', 'Stimmen'),
  votesHint:
    'Die Stimmen sind die der neuesten Runde, in der eine Nachricht war. Runden werden nicht zusammengezählt: Wer an zweien teilnahm, zählte doppelt.',
  order: 'Reihenfolge',
  byEpoch: 'Neueste zuerst',
  byVotes: 'Meiste Stimmen zuerst',
  group: (name: string) => `Gruppe: ${name}`,
  all: 'Alle Gruppen',
  groups: 'Zeigen',

  alarm: {
    title: 'Ein Server hat etwas Gefälschtes gezeigt',
    text: (server: string) =>
      `Was ${server} gezeigt hat, hält der Prüfung nicht stand. Es kam nicht an die Wand, und diese Seite fragt jenen Server nicht mehr. Sag es den anderen in deiner Gruppe.`,
  },
};
