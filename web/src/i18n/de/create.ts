import type { Create } from '../en/create';
import { duration, several } from './words';

const people = (n: number) => several(n, 'Person', 'Personen');

export const de: Create = {
  title: 'Einen Raum eröffnen',
  lead: 'Du leitest ihn. Dein Schlüssel entsteht auf diesem Gerät; kein Server bekommt ihn je zu sehen.',
  loading: 'Der Server wird gefragt, was er erlaubt …',

  kindTitle: 'Wofür ist er?',
  kinds: {
    lecture: [
      'Fragen in einer Vorlesung',
      'Wer den Link hat, fragt. Du antwortest, heftest an und ordnest.',
    ],
    team: ['Rückmeldungen im Team', 'Längere Nachrichten, mehr Zeit, ein Link für jedes Mitglied.'],
    vote: ['Eine Abstimmung', 'Ein Link für jede Person; so stimmt niemand zweimal ab.'],
  },

  name: 'Name des Raums',
  nameHint: 'Alle sehen ihn.',
  purpose: 'Worum es geht',
  purposeHint: 'Ein, zwei Sätze für alle, die beitreten. Das Feld kann leer bleiben.',
  people: 'Mit wie vielen Leuten rechnest du?',
  peopleHint: (enough: number, expected: number, places: number) =>
    `Nachrichten erscheinen ab ${people(enough)}${expected < enough ? ': Weniger als drei verbergen niemanden' : ''}. Bis dahin warten sie, und alle sehen, wie viele fehlen. Platz ist für ${places}. Du kannst die Zahl senken, während der Raum läuft; alle erfahren davon.`,
  code: 'Eröffnungscode',
  codeHint:
    'Du bekommst ihn von denen, die die Server betreiben. Er wird beim Eröffnen gesendet und nicht aufbewahrt.',
  adminHint:
    'Hier eröffnen nur die Betreiber der Server Räume; gefragt ist ihr Token. Er wird beim Eröffnen gesendet und nicht aufbewahrt.',

  who: {
    title: 'Wer darf teilnehmen?',
    open: [
      'Wer den Link hat',
      'Am einfachsten. Aber eine Person mit zehn Geräten zählt zehnmal: in Umfragen und in der Menge, in der sich andere verbergen.',
    ],
    invited: [
      'Wer einen Einladungslink hat',
      'Du machst einen Link für jede Person. Ein Link ist eine Stimme und ein Platz in einer Epoche.',
    ],
    listed: [
      'Mitglieder auf einer Liste',
      'Die Leute schicken dir den Schlüssel, den ihr Gerät zeigt. Am stärksten: Niemand sonst, auch du nicht, hat je ihre Schlüssel.',
    ],
  },

  settings: {
    title: 'Einstellungen',
    change: 'Einstellungen ändern',
    summary: (bytes: number, seconds: number, enough: number, days: number | null) =>
      `Nachrichten von bis zu ${bytes} Bytes. Alle ${duration(seconds)} werden sie gemischt und veröffentlicht, ab ${people(enough)}. ${days === null ? 'Was gesagt wurde, bleibt.' : `Was gesagt wurde, wird nach ${several(days, 'Tag', 'Tagen')} gelöscht.`}`,
    size: 'Längste Nachricht, in Bytes',
    sizeHint: (bytes: number) =>
      `Ein einfacher Buchstabe ist ein Byte, ein Umlaut zwei, ein Emoji vier. Der Raum fasst ${bytes}. Längere Nachrichten kosten die Server mehr.`,
    seconds: 'Länge einer Epoche, in Sekunden',
    secondsHint: (seconds: number) =>
      `${duration(seconds)}. Die Nachrichten einer Epoche erscheinen zusammen, in einer Reihenfolge, die niemand kennt. Längere Epochen verbergen besser, kürzere sind lebhafter.`,
    capacity: 'Plätze in einer Epoche',
    capacityHint:
      'So viele nehmen höchstens gleichzeitig teil; andere müssen warten. Nimm mehr, als du erwartest.',
    minimum: 'Mindestzahl, in der man sich verbirgt',
    minimumHint: (enough: number) =>
      `Veröffentlicht wird ab ${people(enough)}. Die Teilnehmer irgendeines einzelnen Servers zählen nicht, denn dieser könnte sie erfunden haben; deshalb ist die Zahl der Leute größer als diese.`,
    noCrowd:
      'Eins ist keine Menge: Von zweien weiß jede Person, was die andere gesagt hat, und ein Server kann jemanden mit Leuten allein lassen, die er erfunden hat. Nimm zwei oder mehr, außer zum Üben.',
    range: (least: number, most: number) =>
      `${least.toLocaleString('de')} bis ${most.toLocaleString('de')}`,
    engine: {
      title: 'Wie die Server mischen (für Kundige)',
      ruffle: [
        'Ruffle',
        'Die Server bereiten im Voraus vor, so endet eine Epoche schnell. Die übliche Wahl.',
      ],
      clarion: [
        'Clarion',
        'Die Server bereiten fast nichts vor: gut für große Epochen, die selten kommen. Es schützt ebenso; wenn ein Server betrügt, hält die Epoche immer an.',
      ],
    },
    mode: {
      title: 'Wenn ein Server beim Betrügen ertappt wird',
      fair: [
        'Anhalten (fair)',
        'Die Epoche endet ohne Ergebnis, und nichts daraus wird enthüllt. Die Nachrichten kommen in die nächste. Ein betrügender Server kann den Raum aufhalten, aber nie hineinsehen.',
      ],
      robust: [
        'Weitermachen (robust)',
        'Ein Server, der sich als ehrlich erwiesen hat, beendet die Epoche allein. Der Raum lässt sich nicht aufhalten, doch dieser Server erfährt, wer in dieser einen Epoche was geschrieben hat.',
      ],
    },
    retention: 'Was gesagt wurde, wird gelöscht nach',
    keeps: 'nie',
    days: (n: number) => several(n, 'Tag', 'Tagen'),
    retentionHint:
      'Die Server löschen die Texte. Fingerabdrücke bleiben, damit sich die Aufzeichnung noch prüfen lässt.',
    moderated: 'Die Leinwand zeigt nur freigegebene Nachrichten',
    moderatedHint:
      'Von Anfang an: Was du nicht freigegeben hast, kommt nicht auf die Leinwand. Die Seite des Raums zeigt es trotzdem. Du kannst das jederzeit auf der Leitungsseite ändern.',
  },

  limits: {
    title: 'Was keine Einstellung verhindert',
    sybils: {
      title: 'Erfundene Teilnehmer',
      open: 'In einem offenen Raum kann eine Person oder ein Server Teilnehmer erfinden. Die Zahl neben jeder Nachricht verspricht dann mehr, als sie hält. Die Mindestzahl in den Einstellungen lässt die Teilnehmer irgendeines einzelnen Servers aus; gegen Leute mit vielen Geräten helfen Einladungslinks oder eine Liste.',
      members:
        'Hier zählt jeder Schlüssel einmal, und du bestimmst, welche. Wer die Links verteilt, entscheidet, wer echt ist; niemand sonst kann Teilnehmer hinzufügen.',
    },
    intersectionTitle: 'Vergleich von Epochen',
    intersection:
      'Wer sieht, wer wann teilnimmt und welche Nachrichten wann erscheinen, kann mit der Zeit eingrenzen, wer sie schrieb. Dagegen geben offene Seiten fortwährend leere Nachrichten ab; Sprechen und Schweigen sehen gleich aus. Es hilft, wenn alle bis zum Ende bleiben und die Epochen lang sind.',
    linksTitle: 'Links in falschen Händen',
    links:
      'Wer einen Einladungslink zuerst benutzt, bekommt den Platz. Die Person, der er gehört, erfährt das; du kannst die Einladung entziehen und eine neue machen. Mit dem Link kann niemand lesen, was die Person schreibt: Das Gerät, das ihn benutzt, macht einen eigenen Schlüssel.',
  },

  submit: 'Raum eröffnen',
  opening: 'Der Raum wird eröffnet …',
  wrong: {
    noName: 'Der Raum hat noch keinen Namen: Gib ihm oben einen.',
    longName: 'Der Name ist zu lang: höchstens 200 Bytes, und ein Umlaut braucht zwei.',
    longPurpose: 'Worum es geht, ist zu lang: höchstens 1.000 Bytes, und ein Umlaut braucht zwei.',
  },
  failed: (reason: string) => `Der Raum wurde nicht eröffnet: ${reason}.`,
  altered: 'der Server hat einen anderen Raum eröffnet als den verlangten; benutze ihn nicht',
  unreachable: 'dieser Server zeigt ihn noch nicht',
  waiting: {
    title: (name: string) => `„${name}“ ist eröffnet, aber noch nicht zu sehen`,
    text: (reason: string) =>
      `Der Grund: ${reason}. Versuche es in einer Minute noch einmal: Gesucht wird derselbe Raum, ein weiterer wird nicht eröffnet.`,
    kept: 'Dieser Browser bewahrt deinen Schlüssel auf: Auf der Startseite steht der Raum unter denen, die du leitest.',
    looking: 'Der Raum wird gesucht …',
    wrongServersTitle: (name: string) => `Bei „${name}“ widersprechen sich die Server`,
    wrongServers:
      'Der Raum wurde eröffnet, doch ein Server zeigt andere Schlüssel, als dieser hier genannt hat, oder einen anderen Raum. Benutze den Raum nicht, und gib niemandem einen Link zu ihm. Sag es denen, die die Server betreiben.',
  },

  done: {
    title: (name: string) => `„${name}“ ist eröffnet`,
    hostTitle: 'Bewahre den Leitungslink auf',
    host: 'Wer diesen Link hat, leitet den Raum: Er enthält deinen Schlüssel. Niemand kann dir einen neuen geben. Sichere ihn, bevor du weitergehst.',
    unkept:
      'Der Speicher dieses Browsers ist voll, er bewahrt deinen Schlüssel also nicht auf: Ohne den Link leitest du den Raum nicht mehr.',
    moderated: 'Die Leinwand zeigt nur freigegebene Nachrichten.',
    unmoderated: (reason: string, again: boolean) =>
      `Der Raum ist eröffnet, aber seine Leinwand zeigt alle Nachrichten, nicht nur freigegebene. Das ließ sich nicht einstellen, denn ${reason}. ${again ? 'Die Leitungsseite versucht es von selbst noch einmal. Sieh dort unter „Raum“ nach, bevor du die Leinwand zeigst.' : 'Stelle es auf der Leitungsseite unter „Raum“ ein, bevor du die Leinwand zeigst.'}`,
    membersFirst: 'Noch ist niemand zugelassen. Mache die Einladungen auf der Leitungsseite.',
    open: 'Zur Leitungsseite',
    trust: (origin: string) =>
      `Die Links nennen die Schlüssel der Server so, wie ${origin} sie diesem Gerät gezeigt hat. Vor etwas Wichtigem vergleiche den letzten Teil des Raumlinks mit dem, was die Betreiber der Server sagen.`,
  },

  mine: {
    title: 'Räume, die du von diesem Browser aus leitest',
    forget: (name: string) => `„${name}“ hier vergessen`,
    warning: (name: string) =>
      `In diesem Browser vergessen, dass du „${name}“ leitest? Dein Schlüssel geht verloren, und mit dem letzten die Fragen, die du vorbereitet hast. Nur der Leitungslink öffnet die Leitungsseite wieder. Hast du ihn aufbewahrt?`,
    warningYes: 'Vergessen',
    forgotten: 'In diesem Browser vergessen. Der Leitungslink öffnet den Raum weiterhin.',
  },
};
