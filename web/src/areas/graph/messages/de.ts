import type { Graph } from './en';
import { several, spoken } from '../../../i18n/de/words';

const number = (n: number) => n.toLocaleString('de');
const megabytes = (bytes: number) =>
  (bytes / 1e6).toLocaleString('de', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export const de: Graph = {
  instead: 'Stattdessen Dateien mit Verbindungen, von denen niemand eine sieht',
  ask: {
    title: 'Rechnen mit Verbindungen, die niemand sieht',
    lead: 'Mehrere Leute kennen je einen Teil der Verbindungen: wer wem zahlt, wer wen getroffen hat. Drei Server rechnen mit allen zusammen, und nur wonach du fragst, kommt heraus.',
    question: 'Worum geht es?',
    questionHint:
      'Zum Beispiel: „Wer hat wem gezahlt, erstes Quartal“. Alle, die beitragen, sehen es.',
    vertices: 'Was ist verbunden?',
    called: {
      names: ['Leute oder Dinge mit Namen', 'Alle, die beitragen, sehen die Liste.'],
      numbers: ['Nummern ab 0', 'Wenn ihr alle gleich nummeriert.'],
    },
    names: 'Die Namen, einer in jeder Zeile',
    namesHint:
      'Nur diese Namen dürfen in den Dateien stehen. Ist die Liste sehr lang, brauchen alle, die beitragen, sie als Datei.',
    namesNeeded:
      'Die Liste der Namen ist lang: Gib sie allen, die beitragen, als Datei mit einem Namen in jeder Zeile, in derselben Reihenfolge.',
    count: 'Wie viele sind es?',
    what: 'Was wird berechnet?',
    program: {
      distances: ['Entfernungen', 'Wie viele Verbindungen jeder vom Anfang entfernt ist.'],
      reach: [
        'Wer in der Nähe ist',
        'Welche höchstens so viele Verbindungen entfernt sind. Verrät weniger als Entfernungen.',
      ],
      shortest: [
        'Kürzeste Wege',
        'Wie lang der Weg zu jedem ist; ein drittes Feld auf einer Zeile sagt, wie lang eine Verbindung ist.',
      ],
      components: ['Gruppen', 'Wer zusammenhängt, auch über beliebig viele andere.'],
      edges: ['Wie viele Verbindungen', 'Eine Zahl für alle zusammen.'],
      'in-degrees': ['Eingehende Verbindungen', 'Wie viele zu jedem hinführen.'],
      'out-degrees': ['Ausgehende Verbindungen', 'Wie viele von jedem wegführen.'],
      katz: ['Zentralität', 'Wege zu jedem, von denen längere weniger zählen (Katz).'],
      pagerank: ['Rang', 'Verbunden von dem, was selbst hoch steht (PageRank).'],
    },
    from: 'Anfang bei',
    fromHint: 'Ein Name, oder mehrere mit Kommas dazwischen. Alle, die den Link haben, sehen es.',
    hops: 'Wie viele Verbindungen weit höchstens?',
    shownTitle: 'Was kommt heraus?',
    shown: {
      counts: ['Wie viele welchen Wert haben', 'Nicht welche. Das verrät am wenigsten.'],
      vertices: ['Der Wert von jedem', 'Kann Beitragenden viel übereinander verraten.'],
      'at-least': ['Die Werte ab einer Zahl', 'Von den anderen nur, dass sie weniger haben.'],
      top: ['Die ersten', 'So viele mit den höchsten Werten, und von den anderen nichts.'],
    },
    noisy: 'Rauschen dazu, sodass niemand erkennt, ob es irgendeine einzelne Verbindung gibt.',
    threshold: 'Ab welcher Zahl?',
    first: 'Wie viele der ersten?',
    acrossHint: 'Gruppen, in denen zwei weiter voneinander entfernt sind, können zerfallen.',
    longest: 'Wie lang ist die längste Verbindung?',
    longestHint: 'Längen sind ganze Zahlen ab 1. Bei längeren schicken alle mehr.',
    readerTitle: 'Wer kann es lesen?',
    reader: {
      me: [
        'Nur ich, in diesem Browser',
        'Die Server berechnen es, ohne es lesen zu können. Vergisst dieser Browser seine Daten, kann es niemand mehr.',
      ],
      all: ['Alle, die den Link haben', 'Auch die Beitragenden.'],
    },
    entryTitle: 'Wer darf beitragen?',
    entry: {
      invited: ['Wer einen eigenen Link hat', 'Du machst für jeden einen Link.'],
      anyone: [
        'Wer den Link hat',
        'Ob jemand zweimal beiträgt oder zwei Leute je einmal, kann dann niemand unterscheiden.',
      ],
    },
    minimum: 'Mindestens so viele Beiträge',
    minimumHint: 'Mit weniger wird nichts berechnet.',
    edges: 'Meiste Verbindungen eines Beitrags',
    edgesHint: 'Alle schicken so viel wie für so viele, darum sieht niemand, wie viele es sind.',
    afterTitle: 'Was wird aus den Beiträgen?',
    after: {
      erased: ['Sie werden gelöscht', 'Von allen Servern, sobald das Ergebnis da ist.'],
      kept: [
        'Sie bleiben, damit ich noch mehr dazu fragen kann',
        'Ohne dass jemand noch einmal beiträgt. Alle, die beitragen, lesen vorher, wie viele Fragen es sein können und wie lange. Jede Antwort verrät mehr, und alle zusammen am meisten. Solange sie da sind, könnten zwei unehrliche Server zusammen sie lesen.',
      ],
    },
    questions: 'Höchstens wie viele weitere Fragen?',
    days: 'Wie viele Tage nach dem Ergebnis?',
    wrong: {
      question: 'Schreib in eine Zeile, worum es geht.',
      vertices: 'Schreib die Namen, einen in jede Zeile.',
      from: 'Schreib einen Namen aus der Liste, bei dem angefangen wird.',
      few: 'Bei weniger als zehn Namen neben denen, bei denen angefangen wird, verriete die Anzahl den Abstand jedes einzelnen: mehr Namen, oder den Wert von jedem wählen.',
    },
    seesTitle: 'Wer sieht was?',
    sees: [
      [
        'Die Server',
        'Wer wann beigetragen hat. Keine einzige Verbindung, außer wenn zwei der drei zusammenarbeiten.',
      ],
      [
        'Die anderen Beitragenden',
        'Deine Frage und die Namen. Von den Verbindungen der anderen nichts, als was das Ergebnis verrät.',
      ],
      ['Du', 'Das Ergebnis, und welcher Link benutzt wurde. Keine einzige Verbindung.'],
    ],
  },
  by: (servers) =>
    `${spoken(servers)} rechnen zusammen mit den Verbindungen mehrerer Leute. Niemand erfährt eine einzelne, auch kein Server, solange höchstens einer von ihnen unehrlich ist.`,
  of: (vertices) => `Der Graph hat ${several(vertices, 'Knoten', 'Knoten')}.`,
  comesOut: {
    distances: (hops, from) =>
      `Was berechnet wird: wie viele Verbindungen jeder Knoten von ${from.length > 0 && from.length <= 5 ? spoken(from) : 'gegebenen Knoten'} entfernt ist, bis zu ${number(hops)}.`,
    reach: (hops, from) =>
      `Was berechnet wird: welche Knoten höchstens ${several(hops, 'Verbindung', 'Verbindungen')} von ${from.length > 0 && from.length <= 5 ? spoken(from) : 'gegebenen Knoten'} entfernt sind.`,
    edges: 'Was berechnet wird: wie viele Verbindungen es gibt.',
    pagerank: (hops) =>
      `Was berechnet wird: welchen Rang jeder Knoten hat (PageRank), in ${several(hops, 'Schritt', 'Schritten')}.`,
    'in-degrees': 'Was berechnet wird: wie viele Verbindungen zu jedem Knoten hinführen.',
    'out-degrees': 'Was berechnet wird: wie viele Verbindungen von jedem Knoten wegführen.',
    shortest: (within, longest, from) =>
      `Was berechnet wird: wie lang der kürzeste Weg zu jedem Knoten von ${from.length > 0 && from.length <= 5 ? spoken(from) : 'gegebenen Knoten'} ist, bis zu ${number(within)}. Ein drittes Feld auf einer Zeile sagt, wie lang eine Verbindung ist, von 1 bis ${number(longest)}.`,
    components: (hops) =>
      `Was berechnet wird: welche Knoten zusammenhängen, so weit ${several(hops, 'Verbindung führt', 'Verbindungen führen')}. Auch die Server sehen es.`,
    katz: (hops) =>
      `Was berechnet wird: wie zentral jeder Knoten ist (Katz), nach Wegen von bis zu ${number(hops)} Verbindungen.`,
  },
  shown: {
    counts: 'Was herauskommt: wie viele Knoten welchen Wert haben, und nicht welche.',
    vertices: 'Was herauskommt: der Wert jedes Knotens.',
    atLeast: (threshold) =>
      `Was herauskommt: die Werte der Knoten mit ${number(threshold)} oder mehr; von den anderen nur, dass sie weniger haben.`,
    top: (count) =>
      `Was herauskommt: ${several(count, 'Knoten', 'Knoten')} mit den höchsten Werten, und diese; von den anderen nichts.`,
    total: 'Was herauskommt: diese Zahl.',
    noise: (epsilon) =>
      `Mit Rauschen, das verbirgt, ob es irgendeine einzelne Verbindung gibt (ε = ${number(epsilon)}).`,
    forReader: 'Lesen kann es nur, wer gefragt hat, auch die Server können es nicht.',
    forAll: 'Lesen können es alle, die den Link haben.',
  },
  processors: (processors) =>
    `Gerechnet wird durch Verteilen und Sammeln mit ${several(processors, 'Prozessor', 'Prozessoren')}, mit demselben Ergebnis.`,
  erased: 'Die Server löschen, was beigetragen wird, sobald das Ergebnis da ist.',
  kept: (questions, days) =>
    `Die Server behalten, was beigetragen wird, und wer fragt, kann binnen ${several(days, 'Tag', 'Tagen')} noch bis zu ${several(questions, 'Frage', 'Fragen')} dazu stellen: alles, was sich über solche Verbindungen fragen lässt. Dann löschen sie es.`,
  earlier:
    'Gerechnet wird mit dem, was zu einer früheren Frage beigetragen wurde; neu trägt niemand bei.',
  further: {
    title: 'Mehr zu denselben Verbindungen fragen',
    text: (questions, days) =>
      `Die Server behalten, was beigetragen wurde, für noch bis zu ${several(questions, 'Frage', 'Fragen')} von dir, binnen ${several(days, 'Tag', 'Tagen')} nach diesem Ergebnis, und löschen es dann. Neu trägt niemand bei; wer beigetragen hat, hat das vorher gelesen. Jede Antwort verrät mehr von den Verbindungen.`,
    open: 'Noch eine Frage',
    questionHint: 'Alle, die ihren Link haben, sehen es.',
    few: 'Bei weniger als zehn Namen neben denen, bei denen angefangen wird, verriete die Anzahl den Abstand jedes einzelnen: den Wert von jedem wählen.',
    ask: 'Fragen, und gleich rechnen',
  },
  stages: {
    sealing: 'Einigung, welche Beiträge zählen',
    preparing: 'Geheime Mischungen werden vorbereitet',
    checking: 'Geprüft wird, ob jede Liste ein Graph ist, ohne eine zu sehen',
    hop: 'Den Verbindungen wird gefolgt',
    verifying: 'Das Berechnete wird nachgeprüft',
    opening: 'Geöffnet wird, wonach gefragt war, und sonst nichts',
    part: (part, of) => `${number(part)} von ${number(of)}`,
    sent: (bytes) => `${megabytes(bytes)} MB hat jeder Server bisher geschickt`,
    done: 'fertig',
  },
  undirected: 'Verbindungen gelten in beide Richtungen.',
  weighted: 'Ein drittes Feld auf einer Zeile sagt, wie viele Verbindungen sie ist.',
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
    vertex: 'Knoten',
    hops: (hops) => (hops === 0 ? 'Anfang' : several(hops, 'Verbindung', 'Verbindungen')),
    between: (from, to) => (from === to ? number(from) : `${number(from)} bis ${number(to)}`),
    far: (hops) => `nicht in ${number(hops)}`,
    within: (hops) => `in ${number(hops)}`,
    from: (least) => `${number(least)} und mehr`,
    total: (edges) => several(edges, 'Verbindung', 'Verbindungen'),
    below: (threshold) => `unter ${number(threshold)}`,
    top: 'Die höchsten Werte',
    components: 'Wie viele Gruppen wie groß sind',
    largest: 'Die größten Gruppen, nach ihrem ersten Knoten',
    sized: (from, to) => `von ${from === to ? number(from) : `${number(from)} bis ${number(to)}`}`,
    closed:
      'Das Ergebnis ist da, und es ist nur für den, der gefragt hat: Öffne diese Seite auf dem Gerät, auf dem gefragt wurde. Niemand sonst kann es lesen, auch die Server nicht.',
    liars: (servers) =>
      `${spoken(servers)} hat für dich etwas anderes verschlossen als unterschrieben und lügt also. Das Ergebnis stimmt trotzdem.`,
    of: (n, out) =>
      `von ${several(n, 'Beitrag', 'Beiträgen')}${out > 0 ? `; ${number(out)} zählten nicht` : ''}`,
  },
  sees: 'Auf deinem Gerät wird die Reihenfolge deiner Verbindungen durch drei geheime Mischungen verborgen, von denen jeder Server nur zwei Teile kennt; was geschickt wird, sieht für jeden zufällig aus. Alle schicken gleich viel, egal wie viele Verbindungen sie haben. Die Server sehen, wer wann beigetragen hat, nicht was; wer den Link hat, sieht die Schlüssel derer, die beigetragen haben.',
  number,
  part: (part) => part.toLocaleString('de', { style: 'percent', maximumFractionDigits: 3 }),
};
