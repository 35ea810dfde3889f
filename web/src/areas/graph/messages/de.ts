import type { Graph } from './en';
import { several, spoken } from '../../../messages/de/words';

const number = (n: number) => n.toLocaleString('de');

export const de: Graph = {
  by: (servers) =>
    `${spoken(servers)} rechnen zusammen mit den Verbindungen mehrerer Leute. Niemand erfährt eine einzelne, auch kein Server, solange höchstens einer von ihnen unehrlich ist.`,
  of: (vertices) => `Der Graph hat ${several(vertices, 'Knoten', 'Knoten')}.`,
  comesOut: {
    distances: (hops, from) =>
      `Was berechnet wird: wie viele Verbindungen jeder Knoten von ${from.length > 0 && from.length <= 5 ? spoken(from) : 'gegebenen Knoten'} entfernt ist, bis zu ${number(hops)}.`,
    'in-degrees': 'Was berechnet wird: wie viele Verbindungen zu jedem Knoten hinführen.',
    'out-degrees': 'Was berechnet wird: wie viele Verbindungen von jedem Knoten wegführen.',
    katz: (hops) =>
      `Was berechnet wird: wie zentral jeder Knoten ist (Katz), nach Wegen von bis zu ${number(hops)} Verbindungen.`,
  },
  shown: {
    counts: 'Was herauskommt: wie viele Knoten welchen Wert haben, und nicht welche.',
    vertices: 'Was herauskommt: der Wert jedes Knotens.',
    atLeast: (threshold) =>
      `Was herauskommt: die Werte der Knoten mit ${number(threshold)} oder mehr; von den anderen nur, dass sie weniger haben.`,
  },
  undirected: 'Verbindungen gelten in beide Richtungen.',
  file: 'Datei mit deinen Verbindungen',
  fileHint: (edges) =>
    `Zwei Namen in jeder Zeile, getrennt durch Komma, Tabulator oder Leerzeichen; bis zu ${number(edges)} Zeilen. Die Datei bleibt auf diesem Gerät.`,
  names: 'Datei mit den Namen der Knoten',
  namesHint: 'Wer gefragt hat, hat sie dir gegeben; sie ist für alle dieselbe.',
  wrongNames: 'Das sind andere Namen als bei dem, der gefragt hat, oder in anderer Reihenfolge.',
  reading: (edges) => `Wird gelesen: ${several(edges, 'Verbindung', 'Verbindungen')} bis jetzt …`,
  noText: 'Das ist keine Textdatei in UTF-8.',
  tooMany: (edges) =>
    `Die Datei hat mehr als die ${several(edges, 'Verbindung', 'Verbindungen')}, die eine Person haben darf.`,
  empty: 'Die Datei enthält keine Verbindungen.',
  bad: (lines) =>
    `${several(lines, 'Zeile ist', 'Zeilen sind')} falsch, darum wurde nichts geschickt. Berichtige die Datei und wähle sie noch einmal:`,
  more: (lines) => `… und ${several(lines, 'weitere Zeile', 'weitere Zeilen')}`,
  ready: (edges) =>
    `${several(edges, 'Verbindung', 'Verbindungen')} gelesen, jede Zeile ist richtig.`,
  tells: (minimum) =>
    `Bedenke: Hier wird gerechnet, sobald ${several(minimum, 'Person', 'Personen')} beigetragen ${minimum === 1 ? 'hat' : 'haben'}, und Werte einzelner Knoten kommen heraus. Bei so wenigen können sie zeigen, welche Verbindungen deine sind.`,
  send: 'Beitragen',
  making: 'Die Teile für die Server werden gemacht …',
  sending: (servers, of, kilobytes) =>
    `${number(kilobytes)} kB gehen an jeden Server: ${number(servers)} von ${number(of)} haben sie …`,
  again: 'Dein Beitrag ist auf diesem Gerät, aber noch nicht bei allen Servern.',
  resend: 'Noch einmal abgeben',
  thanks:
    'Deine Verbindungen sind angekommen. Alle Server haben unterschrieben, dass sie sie haben.',
  once: 'Sie lassen sich nicht ändern. Dieses Gerät bewahrt sie nicht auf.',
  uninvited: 'Nur wer einen eigenen Link bekommen hat, kann beitragen.',
  count: (n, minimum) =>
    n < minimum
      ? `${several(n, 'Beitrag', 'Beiträge')}; es fehlen noch ${number(minimum - n)}, bevor etwas berechnet wird`
      : several(n, 'Beitrag', 'Beiträge'),
  sealing: 'Es ist geschlossen. Die Server einigen sich, welche Beiträge zählen …',
  computing: (n) =>
    `Die Server rechnen mit ${several(n, 'Beitrag', 'Beiträgen')}. Jeder sieht nur Zahlen, die zufällig aussehen.`,
  tooFew: (missing) =>
    `Es wurde mit zu wenigen Beiträgen geschlossen: ${number(missing)} fehlten. Nichts wurde berechnet, und niemand weiß etwas über die Beiträge.`,
  result: {
    picture: 'Wie viele Knoten welchen Wert haben',
    value: 'Wert',
    vertices: 'Knoten',
    hops: (hops) => (hops === 0 ? 'Anfang' : several(hops, 'Verbindung', 'Verbindungen')),
    between: (from, to) => (from === to ? number(from) : `${number(from)} bis ${number(to)}`),
    far: (hops) => `nicht in ${number(hops)}`,
    below: (threshold) => `unter ${number(threshold)}`,
    top: 'Die höchsten Werte',
    of: (n, out) =>
      `von ${several(n, 'Beitrag', 'Beiträgen')}${out > 0 ? `; ${number(out)} zählten nicht` : ''}`,
  },
  sees: 'Auf deinem Gerät wird die Reihenfolge deiner Verbindungen durch drei geheime Mischungen verborgen, von denen jeder Server nur zwei Teile kennt; was geschickt wird, sieht für jeden zufällig aus. Alle schicken gleich viel, egal wie viele Verbindungen sie haben. Die Server sehen, wer wann beigetragen hat, nicht was; wer den Link hat, sieht die Schlüssel derer, die beigetragen haben.',
  number,
};
