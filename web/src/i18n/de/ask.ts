import type { Ask } from '../en/ask';
import { moment, several, spoken } from './words';

const number = (n: number) => n.toLocaleString('de');

export const de: Ask = {
  title: 'Frag nach Zahlen, die niemand sieht',
  lead: 'Alle schicken eine Zahl: was sie verdienen, wie lange es gedauert hat. Mehrere Server berechnen zusammen den Median oder den Mittelwert. Niemand erfährt eine einzelne Zahl, auch kein Server, solange einer von ihnen ehrlich ist.',
  loading: 'Der Server wird gefragt, wer rechnet …',
  question: 'Was fragst du?',
  questionHint:
    'Zum Beispiel: „Was verdienst du im Monat, in Euro?“ Alle, die den Link haben, sehen es.',
  kindTitle: 'Was schicken alle?',
  kind: {
    number: ['Eine Zahl', 'Was jemand verdient, wie lange etwas gedauert hat.'],
    choice: [
      'Eine von mehreren Möglichkeiten',
      'Wie bei einer Abstimmung: Es wird gezählt, wie viele was gewählt haben.',
    ],
    things: [
      'Eine Liste von Dingen',
      'Es wird gezählt, wie viele verschiedene Dinge in allen Listen zusammen stehen, ungefähr: in zwei von drei Fällen auf 3 % genau.',
    ],
  },
  choices: 'Die Möglichkeiten, eine in jeder Zeile',
  choicesHint: 'Sie werden Teil der Frage.',
  groups: 'Gruppen, eine in jeder Zeile, falls du für jede ein Ergebnis willst',
  groupsHint:
    'Alle sagen, zu welcher sie gehören; auch das sieht niemand. Über eine Gruppe mit zu wenigen Antworten wird nichts gesagt.',
  counted: {
    each: 'Wie viele was gewählt haben',
    top: 'Die drei am häufigsten gewählten, und nichts über die anderen',
  },
  largest: 'Größte Zahl, die jemand antworten könnte',
  largestHint: (largest) =>
    `Zahlen von 0 bis ${number(largest)} können geschickt werden. Kleiner ist schneller und fängt Tippfehler ab.`,
  whatTitle: 'Was soll herauskommen?',
  what: {
    median:
      'Der Median: die Hälfte liegt darunter, die Hälfte darüber; bei gerader Zahl von Antworten die untere der beiden mittleren',
    quartiles: 'Die Quartile: ein Viertel und drei Viertel',
    mean: 'Summe und Mittelwert',
    deviation: 'Mittelwert und wie weit Antworten davon entfernt liegen (Standardabweichung)',
    histogram: 'Ein Bild: wie viele in jedem von zehn Bereichen liegen',
  },
  shares: 'Unter welchen Werten liegen andere Anteile, in Prozent?',
  sharesHint: 'Zum Beispiel: 10 90. Leer lassen, wenn du keine willst.',
  noise: {
    label: {
      number: 'Rauschen dazu, sodass sich keine einzelne Antwort in dem zeigt, was herauskommt.',
      choice: 'Rauschen dazu, sodass sich keine einzelne Wahl in dem zeigt, was herauskommt.',
      things:
        'Rauschen dazu, sodass sich kein einzelnes Ding einer Liste in dem zeigt, was herauskommt.',
    },
    epsilon: 'Wie wenig darf es verraten? (ε)',
    hint: 'Von 0,25 bis 10; kleinere Zahlen verbergen mehr und brauchen mehr Rauschen. Üblich ist 1.',
    few: 'Mit Rauschen können der Median und andere Anteile bei weniger als 1.000 Antworten weit daneben liegen.',
    things:
      'Ohne Rauschen kann jemand, der sehr viele erfundene Dinge nennt, herausfinden, ob andere ein bestimmtes genannt haben.',
  },
  minimum: 'Mindestzahl der Antworten',
  minimumHint:
    'Mit weniger wird nichts berechnet, und nichts kommt heraus. Bei sehr wenigen Antworten verrät ein Ergebnis viel über jede.',
  whoTitle: 'Wer darf antworten?',
  who: {
    anyone: [
      'Wer den Link hat',
      'Am einfachsten. Aber niemand kann eine Person, die zweimal antwortet, von zweien unterscheiden.',
    ],
    invited: [
      'Wer einen eigenen Link hat',
      'Du machst für jede Person einen Link: je eine Antwort.',
    ],
  },
  people: 'Wie viele Links?',
  hours: 'Schließt von selbst nach so vielen Stunden',
  hoursHint: 'Leer lassen, um selbst zu schließen.',
  ask: 'Fragen',
  asking: 'Die Server nehmen die Frage entgegen …',
  wrong: {
    question: 'Schreib in einer Zeile, was du fragst.',
    choices: 'Schreib mindestens zwei Möglichkeiten, jede in eine eigene Zeile.',
    groups: 'Eine Gruppe ist keine: Schreib mindestens zwei, jede in eine eigene Zeile.',
    long: 'Die Frage und die Namen darin sind zusammen zu lang.',
    statistics: 'Wähle mindestens etwas aus, das herauskommen soll.',
    shares: 'Schreib Anteile von 0 bis 100, mit Leerzeichen dazwischen.',
    wide: 'Wie weit Antworten vom Mittelwert entfernt liegen, wird nur bei Zahlen unter 16.777.216 berechnet.',
  },
  done: {
    title: 'Deine Frage ist gestellt',
    link: 'Link zur Frage',
    linkHint: 'Wer ihn hat, sieht die Frage und später das Ergebnis.',
    code: 'Code des Links zur Frage',
    links: 'Ein Link für jede Person',
    linksHint: 'Mit jedem kann eine Person einmal antworten. Gib jeden nur einer Person.',
    save: 'Links als Datei sichern',
    open: 'Zur Frage',
    kept: 'Dieser Browser bewahrt den Schlüssel auf, der die Frage schließt: Komm zum Schließen auf dieselbe Seite zurück.',
  },

  otherCommittee:
    'Dieser Server gehört zu anderen Servern als denen, die der Link nennt. Es wurde ihm nichts geschickt.',
  unknown: 'Keiner der Server kennt diese Frage. Prüfe, ob der Link vollständig ist.',
  noReceipt: (server) => `${server} hat nicht bestätigt, deine Antwort zu haben.`,
  early: (missing) =>
    `${several(missing, 'Antwort fehlt', 'Antworten fehlen')}: Mit weniger als der Mindestzahl wird nichts berechnet.`,
  unproven:
    'Was die Server als Ergebnis zeigen, ist nicht durch die Unterschriften von allen belegt.',

  asked: {
    by: (servers) =>
      `${spoken(servers)} rechnen zusammen. Deine Antwort bleibt verborgen, solange einer von ihnen ehrlich ist.`,
    comesOut: (what) => `Was herauskommt: ${spoken(what)}. Sonst nichts.`,
    statistic: {
      median: 'der Median (bei gerader Zahl von Antworten die untere der beiden mittleren)',
      quantile: (thousandths) => `der Wert, unter dem etwa ${number(thousandths / 10)} % liegen`,
      sum: 'Summe und Mittelwert',
      histogram: (bins) => `wie viele in jedem von ${bins} Bereichen liegen`,
      top: (places) => `die ${places} am häufigsten gewählten, und wie viele es waren`,
      distinct: 'ungefähr wie viele verschiedene Dinge genannt werden',
      choices: 'wie viele was gewählt haben',
      variance: 'Mittelwert und Standardabweichung',
      circuit: 'was eine eigene Formel aus jeder Antwort macht, über alle zusammengezählt',
      circuitOfAll:
        'was eine eigene Formel aus allen Antworten auf einmal macht; sie kann alles über deine verraten',
      other: 'ein berechneter Wert',
    },
    eachGroup: (names, minimum) =>
      `Für jede Gruppe einzeln${names.length > 0 ? ` (${names.join(', ')})` : ''}; über eine mit weniger als ${number(minimum)} Mitgliedern wird nichts gesagt.`,
    consent:
      'Ich weiß, dass das Ergebnis meine Antwort verraten kann: Die Formel liest alle Antworten auf einmal.',
    noise: (epsilon, delta, things) =>
      `Es wird Rauschen beigemischt, damit sich ${things ? 'kein einzelnes Ding einer Liste' : 'keine einzelne Antwort'} im Ergebnis zeigt (ε = ${number(epsilon)}, δ unter 2^-${number(delta)}).`,
    until: (at) => `Es schließt von selbst: ${moment(at * 1000)}.`,
    yours: 'Deine Zahl',
    yourGroup: 'Deine Gruppe',
    noGroup: 'Wähle deine Gruppe.',
    choose: 'Deine Wahl',
    choiceHint: 'Wähle eine.',
    things: 'Deine Dinge, eines in jeder Zeile',
    thingsHint: 'Schreib mindestens eines. Dasselbe Wort müssen alle gleich schreiben.',
    range: (largest) => `Eine ganze Zahl von 0 bis ${number(largest)}.`,
    send: 'Abschicken',
    sending: 'Wird allen Servern gegeben …',
    again: 'Deine Antwort ist auf diesem Gerät, aber noch nicht bei allen Servern.',
    resend: 'Noch einmal abgeben',
    thanks: 'Deine Antwort ist angekommen. Alle Server haben unterschrieben, dass sie sie haben.',
    once: 'Sie lässt sich nicht ändern. Dieses Gerät bewahrt die Zahl nicht auf.',
    uninvited: 'Diese Frage ist für Leute, die einen eigenen Link bekommen haben.',
    wrong: (largest) => `Schreib eine ganze Zahl von 0 bis ${number(largest)}.`,
    count: (n, minimum) =>
      n < minimum
        ? `${several(n, 'Antwort', 'Antworten')}; es fehlen noch ${number(minimum - n)}, bevor etwas berechnet wird`
        : several(n, 'Antwort', 'Antworten'),
    close: 'Schließen und Ergebnis berechnen',
    closeHint: 'Danach kann niemand mehr antworten.',
    closing: 'Wird geschlossen …',
    cancel: 'Zurücknehmen',
    cancelling: 'Wird zurückgenommen …',
    cancelConfirm:
      'Zurücknehmen? Nichts wird berechnet, und die Server löschen alles, was abgegeben wurde. Das lässt sich nicht rückgängig machen.',
    cancelYes: 'Endgültig zurücknehmen',
    cancelled: (opened) =>
      `Wer gefragt hat, hat das zurückgenommen. ${opened.length === 0 ? 'Nichts kommt heraus' : `${spoken(opened)} ${opened.length === 1 ? 'hatte' : 'hatten'} schon begonnen, das Ergebnis zu öffnen`}; was abgegeben wurde, ist gelöscht.`,
    sealing: 'Es ist geschlossen. Die Server einigen sich, welche Antworten zählen …',
    computing: (n) =>
      `Die Server rechnen mit ${several(n, 'Antwort', 'Antworten')}. Jeder sieht nur Teile, die zufällig aussehen.`,
    stopped: (name, why) => `Es wird kein Ergebnis geben. ${name} sagt: ${why}`,
    tooFew: (missing) =>
      `Es wurde mit zu wenigen Antworten geschlossen: ${number(missing)} fehlten. Nichts wurde berechnet, und niemand weiß etwas über die Antworten.`,
    away: 'Im Moment antwortet kein Server. Diese Seite versucht es weiter.',
  },
  result: {
    title: 'Ergebnis',
    median: 'Median',
    quantile: (thousandths) => `Etwa ${number(thousandths / 10)} % liegen darunter`,
    sum: 'Summe',
    mean: 'Mittelwert',
    deviation: 'Standardabweichung',
    circuit: (place) => `Wert ${number(place)} der Formel`,
    distinct: 'Verschiedene Dinge',
    about: (estimate) => `etwa ${number(estimate)}`,
    choice: 'Möglichkeit',
    top: 'Was die meisten gewählt haben',
    group: (n) => `Gruppe ${n}`,
    groups: 'Gruppe',
    sizes: 'Antworten in jeder Gruppe',
    few: (names) => `Zu wenige Antworten, um etwas zu sagen über: ${spoken(names)}.`,
    quantiles: 'Wo die Antworten liegen',
    other: 'Eines der Ergebnisse zeigt nur das Programm: ostrakon stats result.',
    of: (n, out) =>
      `von ${several(n, 'Antwort', 'Antworten')}${out > 0 ? `; ${number(out)} zählten nicht` : ''}`,
    spent: (epsilon) =>
      `Alle Ergebnisse bisher, dieses eingeschlossen, verraten über jede Person höchstens so viel, wie das Maß ε = ${number(epsilon)} sagt: je kleiner, desto weniger.`,
    unbounded:
      'Was alle Ergebnisse bisher über jede Person verraten, hat keine Grenze: Ein genaues oder eines über Listen von Dingen ist dabei.',
    budget: (epsilon) =>
      `Die Server lassen ${number(epsilon)} zu und weisen ab, was mehr verriete.`,
    histogram: 'Wie viele was geantwortet haben',
    range: 'Bereich',
    answers: 'Antworten',
    bin: (from, to) =>
      to === null ? `${number(from)} und mehr` : `${number(from)} bis ${number(to - 1)}`,
    proved: (servers) => `Unterschrieben von ${spoken(servers)}; diese Seite hat es geprüft.`,
    save: 'Ergebnis mit Belegen sichern',
  },
  sees: {
    title: 'Wer sieht was?',
    text: 'Auf deinem Gerät wird deine Zahl in Teile zerlegt, einen für jeden Server. Jeder Teil allein sieht zufällig aus, und auch alle bis auf einen zusammen. Die Server sehen, wer wann geantwortet hat, nicht was; wer den Link hat, sieht die Schlüssel derer, die geantwortet haben, und wer die Links gemacht hat, weiß, wem sie gehören.',
  },
  number,
};
