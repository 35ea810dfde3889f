import type { Poll } from '../en/poll';
import { clock, duration, several } from './words';

export const de: Poll = {
  result: 'Ergebnis',
  option: 'Antwort',
  votes: 'Stimmen',
  share: 'Anteil',
  answers: (n: number) => several(n, 'Antwort', 'Antworten'),
  nobody: 'Niemand hat geantwortet.',
  percent: (share: number) => `${Math.round(share * 100)} %`,
  times: (n: number) => `${n}-mal`,
  average: (mean: number, highest: number) => `im Mittel ${mean.toLocaleString('de', { maximumFractionDigits: 1 })} von ${highest}`,
  severalChosen: 'Mehrere Antworten waren möglich.',
  invalid: (n: number) => `${several(n, 'Stimmzettel war', 'Stimmzettel waren')} ungültig.`,
  kind: {
    one: 'Eine Antwort',
    several: 'Mehrere Antworten',
    rating: (highest: number) => `1 bis ${highest}`,
    text: 'Ein paar Worte',
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
  },
  epoch: (epoch: number) => `versiegelt in Epoche ${epoch}`,
  until: (at: number) => `bis etwa ${clock(at)}`,
};
