import type { Decision } from '../en/decision';
import { moment, several, spoken } from './words';

const people = (n: number) => several(n, 'Person', 'Personen');

export const de: Decision = {
  title: 'Entscheidung',
  connecting: 'Die Schlüssel der Server werden mit deinem Link verglichen …',
  alone: 'Bisher zeigt nur ein Server diese Entscheidung. Sobald ein zweiter dasselbe zeigt, geht es hier weiter.',
  busy: 'immer wieder kamen andere Einträge zuvor; lade die Seite neu, dann geht es weiter',
  different: 'ein Server zeigt einen anderen Verlauf dieser Entscheidung als die übrigen',

  verifying: {
    title: 'Alles, was bisher geschah, wird geprüft',
    text: 'Dieses Gerät glaubt keinem Server. Es prüft jede Unterschrift und jeden Beweis selbst.',
    progress: (done: number, all: number) => `${done} von ${several(all, 'Eintrag', 'Einträgen')}`,
  },

  refused: {
    title: 'Antworte nicht: Hier stimmt etwas nicht',
    text: (reason: string) =>
      `Was gefunden wurde: ${reason}. Von dir wurde nichts gesendet. Sag es den anderen auf einem anderen Weg als über diese Seite, und frage die Person, die die Entscheidung angelegt hat. Wer die Server betreibt, sieht an den Einträgen, wer was unterschrieben hat.`,
    unknownTitle: 'Diese Entscheidung gibt es nicht',
    unknown: 'Die Server kennen keine Entscheidung dieses Namens. Prüfe, ob der ganze Link kopiert wurde.',
    failedTitle: 'Die Entscheidung lässt sich nicht öffnen',
  },

  rules: {
    majority: (option: string) => `Angenommen ist, was mehr als die Hälfte mit „${option}“ beantwortet. Heraus kommt nur, ob es angenommen ist.`,
    unanimous: (option: string) => `Angenommen ist, was alle mit „${option}“ beantworten. Heraus kommt nur, ob es angenommen ist.`,
    'at-least': (option: string, k: number) => `Angenommen ist, was mindestens ${k} mit „${option}“ beantworten. Heraus kommt nur, ob es angenommen ist.`,
    veto: (option: string) => `Angenommen ist, was niemand mit „${option}“ beantwortet. Heraus kommt nur, ob es angenommen ist, nicht, wie viele so geantwortet haben.`,
    parity: (option: string) => `Heraus kommt nur, ob eine gerade oder eine ungerade Zahl „${option}“ sagt.`,
    plurality: { first: 'Es gewinnt die häufigste Antwort, bei Gleichstand die, die zuerst steht. Heraus kommt nur der Gewinner.', none: 'Es gewinnt die häufigste Antwort, bei Gleichstand keine. Heraus kommt nur der Gewinner.' },
    tally: 'Heraus kommt, wie oft jede Antwort gegeben wurde, nicht, von wem.',
    custom: 'Eine Tabelle sagt für jede Anzahl von Antworten, was herauskommt. Nur dieser eine Wert kommt heraus.',
  },
  row: (parts: string[]) => spoken(parts),
  moment,
  value: 'Wert',
  table: 'Die Tabelle',

  accept: {
    title: (name: string) => `${name}, du sollst mitentscheiden`,
    text: 'Nimmst du an, macht dieses Gerät einen Schlüssel für diese eine Entscheidung. Er bleibt hier. Wenn alle angenommen haben, könnt ihr antworten, jede und jeder in einem einzigen Besuch, wann immer ihr wollt bis zur Frist.',
    button: 'Annehmen',
    doing: 'Der Schlüssel wird gemacht, und seine Anteile werden verteilt …',
    spent: 'Diese Einladung wurde schon benutzt, auf einem anderen Gerät oder in einem anderen Browser. Warst du das nicht, sag es der Person, die die Entscheidung angelegt hat.',
    reader: 'Du gehörst nicht zu denen, die entscheiden. Du siehst, was alle mit diesem Link sehen können.',
    otherwise: 'Du nimmst schon teil. Der Platz dieser Einladung ist für jemand anderen frei.',
  },
  waiting: {
    title: 'Du hast angenommen',
    text: (names: string[]) => `${spoken(names)} ${names.length === 1 ? 'hat' : 'haben'} noch nicht angenommen. Sobald alle angenommen haben, kannst du hier antworten. Du darfst diese Seite schließen und mit demselben Link wiederkommen.`,
    anybody: (names: string[]) => `${spoken(names)} ${names.length === 1 ? 'hat' : 'haben'} noch nicht angenommen. Geantwortet werden kann, sobald alle angenommen haben.`,
  },

  deadline: (at: number) => `Bis ${moment(at)}`,
  ended: (at: number) => `Die Frist war ${moment(at)}`,
  people: {
    title: (n: number) => `${people(n)} ${n === 1 ? 'entscheidet' : 'entscheiden'}`,
    you: 'du',
    invited: 'hat noch nicht angenommen',
    accepted: 'hat angenommen',
    answered: 'hat geantwortet',
    absent: 'ist weggeblieben',
    removed: 'wurde von der Liste genommen',
    verified: 'hat alles nachgeprüft',
  },

  answer: {
    title: 'Deine Antwort',
    rule: 'Wie entschieden wird',
    learns: 'Was andere erfahren können',
    assumed: (option: string) => `Wer wegbleibt, zählt als „${option}“.`,
    stands: {
      0: 'Niemand kann für Weggebliebene einspringen: Dann gibt es kein Ergebnis. Dafür hat kein Server etwas von deinem Schlüssel.',
      2: 'Bleibt jemand weg, geben nach der Frist zwei beliebige der drei Betreiber die angenommene Antwort. Deine Antwort bleibt geheim, solange höchstens ein Betreiber unehrlich ist.',
      3: 'Bleibt jemand weg, geben nach der Frist alle drei Betreiber zusammen die angenommene Antwort. Deine Antwort bleibt geheim, solange ein Betreiber ehrlich ist.',
    },
    residual: (after: number, results: number) =>
      after === 0
        ? 'Du kommst zuletzt: Aus deiner Antwort lässt sich nichts erfahren als das Ergebnis.'
        : `Nach dir ${after === 1 ? 'kommt' : 'kommen'} ${people(after)}. Verschwören sich alle davon und alle drei Betreiber, könnten sie sehen, was für jede ihrer eigenen möglichen Antworten herauskäme: ${several(results, 'Ergebnis', 'Ergebnisse')} statt eines einzigen. Ist nur einer davon ehrlich, können sie es nicht.`,
    everything: 'Weil Betreiber für Weggebliebene einspringen können, könnten alle drei zusammen jede einzelne Antwort öffnen, auch deine.',
    sorry: 'Wo alle nur einmal kommen, lässt sich das durch nichts verhindern.',
    choose: 'Wähle eine Antwort',
    missing: (n: number) => `Es ${n === 1 ? 'fehlt' : 'fehlen'} noch ${several(n, 'Antwort', 'Antworten')}.`,
    go: 'Antworten …',
    confirm: 'Danach lässt sich die Antwort nicht mehr ändern, auf keinem Gerät.',
    yes: 'Diese Antwort geben',
    doing: 'Deine Antwort wird versiegelt und gesendet. War jemand schneller, wird sie von selbst neu gemacht.',
    pending: 'Deine Antwort ist unterwegs. Es geht von selbst weiter, auch wenn du später wiederkommst.',
    closed: 'Niemand kann mehr antworten.',
  },
  answered: {
    title: 'Du hast geantwortet',
    text: (missing: string[]) => (missing.length === 0 ? 'Alle haben geantwortet. Die Betreiber öffnen das Ergebnis.' : `Es fehlen noch: ${spoken(missing)}. Das Ergebnis wird hier stehen, unter demselben Link.`),
    receipt: 'Deine Quittung',
    receiptHint: 'Sie sagt, dass deine Antwort in den Einträgen steht und wo, aber nicht, wie sie lautet. Bewahre sie auf, wenn du später beweisen können willst, dass die Server sie hatten.',
    number: (n: number) => `Eintrag ${n}`,
    digest: 'Fingerabdruck des Eintrags',
    save: 'Quittung speichern',
  },

  progress: (answered: number, all: number) => `${answered} von ${people(all)} ${answered === 1 ? 'hat' : 'haben'} geantwortet.`,
  opening: 'Alle Antworten sind da, oder die Frist ist vorbei. Die drei Betreiber prüfen alles und öffnen das Ergebnis.',
  lapsed: 'Es gibt kein Ergebnis: Nicht alle haben rechtzeitig angenommen, oder jemand ist weggeblieben, und niemand kann einspringen. Von den Antworten wurde nichts enthüllt.',
  cancelled: 'Die Person, die diese Entscheidung angelegt hat, hat sie abgesagt. Von den Antworten wurde nichts enthüllt.',

  result: {
    title: 'Das Ergebnis',
    passed: 'Angenommen',
    failed: 'Nicht angenommen',
    odd: (option: string) => `Eine ungerade Zahl sagte „${option}“`,
    even: (option: string) => `Eine gerade Zahl sagte „${option}“`,
    option: (option: string) => `„${option}“ gewinnt`,
    tie: 'Keine Antwort gewinnt: Mehrere wurden gleich oft gegeben',
    value: (value: number) => `Die Tabelle sagt ${value}`,
    counts: 'Wie oft jede Antwort gegeben wurde',
    answer: 'Antwort',
    votes: 'Stimmen',
    chosen: (at: number) => `${moment(at)} passt am besten`,
    none: 'Kein Termin passt',
    absent: (names: string[]) => `${spoken(names)} ${names.length === 1 ? 'ist' : 'sind'} weggeblieben. Statt dessen zählte die angenommene Antwort.`,
    nobody: 'Niemand ist weggeblieben.',
    verified: (n: number) => (n === 0 ? 'Noch niemand hat es nachgeprüft.' : `${people(n)} ${n === 1 ? 'hat' : 'haben'} alles nachgeprüft.`),
    recheck: 'Alles noch einmal prüfen',
    rechecking: 'Alles wird noch einmal geprüft …',
    fine: 'Alles stimmt: jede Unterschrift, jeder Beweis und das Ergebnis.',
    archive: 'Die Einträge speichern',
    archiveHint: 'Wer die Datei hat, kann das Ergebnis ohne jeden Server prüfen: ostrakon decide verify DATEI.',
    calendar: 'In den Kalender',
    minutes: 'Länge in Minuten',
  },

  creator: {
    title: 'Du hast diese Entscheidung angelegt',
    text: 'Gib allen ihren eigenen Link. Er ist verbraucht, sobald er einmal benutzt wurde.',
    link: (name: string) => `Link für ${name}`,
    qr: (name: string) => `Code für ${name}`,
    showQr: 'Bildcode',
    all: 'Alle Links kopieren',
    copied: 'Kopiert',
    remove: 'Von der Liste nehmen …',
    removeText: (name: string) => `${name} von der Liste nehmen? Die anderen entscheiden ohne ${name}.`,
    removeYes: 'Von der Liste nehmen',
    cancel: 'Die Entscheidung absagen …',
    cancelText: 'Die Entscheidung absagen? Es wird kein Ergebnis geben, und was geantwortet wurde, bleibt für immer geheim.',
    cancelYes: 'Absagen',
    working: 'Wird unterschrieben und gesendet …',
  },
  failed: (reason: string) => `Das wurde nicht getan: ${reason}.`,

  account: {
    spoilt: 'das Konto dieses Browsers ist unlesbar; lies die Datei ein, die du davon gespeichert hast',
    noFile: 'das ist keine Datei mit einem Konto',
  },
};
