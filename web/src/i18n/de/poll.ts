import type { Poll } from '../en/poll';
import { duration, several } from './words';

export const de: Poll = {
  result: 'Ergebnis',
  option: 'Antwort',
  votes: 'Stimmen',
  share: 'Anteil',
  points: 'Punkte',
  pointsHint: 'Ein Punkt für jede Möglichkeit, die jemand dahinter gesetzt hat.',
  right: 'richtig',
  gone: 'eine Nachricht, die hier nicht gezeigt wird',
  more: (n: number) => `${n} weitere`,
  answers: (n: number) => several(n, 'Antwort', 'Antworten'),
  nobody: 'Niemand hat geantwortet.',
  percent: (share: number) => `${Math.round(share * 100)} %`,
  times: (n: number) => `${n}-mal`,
  average: (mean: number, highest: number) =>
    `im Mittel ${mean.toLocaleString('de', { maximumFractionDigits: 1 })} von ${highest}`,
  severalChosen: 'Mehrere Antworten waren möglich.',
  erased: (n: number) =>
    n === 1
      ? '1 Nachricht dieser Epoche ist gelöscht; sie kann eine Antwort sein.'
      : `${n} Nachrichten dieser Epoche sind gelöscht; Antworten können darunter sein.`,
  invalid: (n: number) => `${several(n, 'Stimmzettel war', 'Stimmzettel waren')} ungültig.`,
  kind: {
    one: 'Eine Antwort',
    several: 'Mehrere Antworten',
    rating: (highest: number) => `1 bis ${highest}`,
    text: 'Ein paar Worte',
    messages: (n: number) => `Abstimmung über ${n} Nachrichten`,
    ranking: 'Eine Reihenfolge',
  },
  state: {
    soon: (seconds: number) => `Die Antworten werden in ${duration(seconds)} versiegelt`,
    sealing: 'Die Antworten werden versiegelt',
    company: 'Es wird gewartet, bis genug teilnehmen, und das an mehr als einem Server',
    counting: 'Versiegelt. Die Server mischen die Antworten',
    counted: 'Ausgezählt',
    lost: 'Die Epoche endete ohne Ergebnis. Nichts daraus wurde enthüllt.',
    withdrawn: 'Zurückgezogen',
    open: 'Es werden Antworten gesammelt',
    unread: 'Die Wand wird gelesen',
  },
  epoch: (epoch: number) => `versiegelt in Epoche ${epoch}`,
};
