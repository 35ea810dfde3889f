import type { Decide } from '../en/decide';
import { several } from './words';

const people = (n: number) => several(n, 'Person', 'Personen');

export const de: Decide = {
  title: 'Gemeinsam entscheiden',
  lead: 'Jede und jeder kommt zweimal kurz vorbei: einmal zum Annehmen, einmal zum Antworten. Heraus kommt das Ergebnis und sonst nichts: Kein Server allein und niemand von euch erfährt über eine Antwort mehr, als das Ergebnis verrät. Je weniger Antworten zählen, desto mehr ist das, und der erste Server kann Antworten zurückhalten.',
  loading: 'Der Server wird gefragt, was er erlaubt …',

  topic: {
    title: 'Worum geht es?',
    question: ['Eine Frage', 'Ja oder nein, oder bis zu acht Antworten.'],
    dates: ['Ein Termin', 'Mehrere Termine, und alle sagen, welche möglich sind.'],
  },
  question: 'Deine Frage',
  questionHint: 'Alle, die einen Link haben, sehen sie.',
  example: { question: 'Stellen wir Ada ein?', dates: 'Wann treffen wir uns?' },

  options: {
    title: 'Antworten',
    label: (n: number) => `Antwort ${n}`,
    yes: 'Ja',
    no: 'Nein',
    veto: 'Veto',
    noVeto: 'Kein Einwand',
    add: 'Noch eine Antwort',
    remove: (n: number) => `Antwort ${n} entfernen`,
    binary: 'Regeln wie „Mehrheit“ zählen die erste der beiden Antworten.',
  },
  dates: {
    title: 'Termine',
    label: (n: number) => `Termin ${n}`,
    hint: 'In deiner eigenen Zeitzone; andere sehen sie in ihrer.',
    end: (n: number) => `Ende von Termin ${n}`,
    kind: 'Woraus wählt ihr?',
    kinds: {
      times: ['Uhrzeiten', 'Ein Tag und eine Uhrzeit.'],
      days: ['Ganze Tage', 'Ein Tag oder mehrere hintereinander, ohne Uhrzeit.'],
    },
    ends: 'Termine haben auch ein Ende',
    several: 'Mehrere Tage hintereinander',
    first: 'Von',
    last: 'Bis',
    addDays: (n: number) =>
      n === 0 ? 'Jeden Tag hinzufügen' : `${several(n, 'Tag', 'Tage')} hinzufügen`,
    daysHint: 'Tage sind für alle dieselben, in welcher Zeitzone sie auch sind.',
    add: 'Den nächsten Tag hinzufügen',
    remove: (n: number) => `Termin ${n} entfernen`,
    possible: 'Möglich',
    ifNeedBe: 'Zur Not',
    offer: 'Auch „Zur Not“ als Antwort anbieten',
    impossible: 'Nicht möglich',
  },

  rule: {
    title: 'Was kommt heraus?',
    each: 'Das kommt für jeden Termin heraus und nicht mehr.',
    majority: {
      name: 'Eine Mehrheit',
      says: (option: string) => `Nur, ob mehr als die Hälfte „${option}“ sagt.`,
    },
    unanimous: {
      name: 'Alle sind einig',
      says: (option: string) => `Nur, ob alle „${option}“ sagen.`,
    },
    'at-least': {
      name: 'Eine Mindestzahl',
      says: (option: string) => `Nur, ob genug „${option}“ sagen; wie viele genug sind, sagst du.`,
    },
    veto: {
      name: 'Kein Veto',
      says: (option: string) => `Nur, ob niemand „${option}“ sagt, nicht, wie viele es sind.`,
    },
    parity: {
      name: 'Gerade oder ungerade',
      says: (option: string) => `Nur, ob eine ungerade Zahl „${option}“ sagt: für ein faires Los.`,
    },
    plurality: {
      name: 'Die häufigste Antwort',
      says: () => 'Nur, welche Antwort am häufigsten gegeben wurde, nicht, wie oft.',
    },
    tally: { name: 'Die volle Auszählung', says: () => 'Wie oft jede Antwort gegeben wurde.' },
    custom: {
      name: 'Eine eigene Tabelle',
      says: () => 'Für jede Anzahl von Antworten sagst du, was herauskommt.',
    },
    enough: 'Wie viele sind genug?',
    tie: 'Bei Gleichstand',
    ties: { first: 'gewinnt, was zuerst steht', none: 'gewinnt keine' },
    table: 'Was herauskommt',
    tableHint:
      'Ein Wert von 0 bis 255 für jede Art, wie die Antworten zusammenkommen können. Sag in der Frage, was die Werte bedeuten.',
    answers: 'Antworten',
    value: 'Wert',
    tableOf: (n: number) =>
      `Die Tabelle hat eine Zeile für jede Anzahl von Antworten: Sie gilt für ${people(n)}, die du unten nennst.`,
  },

  people: {
    title: 'Wer entscheidet?',
    way: 'Wie kommen die anderen dazu?',
    ways: {
      link: [
        'Mit einem Link für alle',
        'Du teilst einen Link. Wer ihn öffnet, fragt mit einem Namen an, und du nimmst alle einzeln auf, bevor es beginnt.',
      ],
      list: [
        'Mit einem Link für jede Person',
        'Du nennst jetzt alle. Jede Person bekommt einen eigenen Link.',
      ],
    },
    open: 'Die anderen kommen dazu, sobald du sie aufnimmst.',
    list: 'Namen, einer in jeder Zeile',
    hint: 'Hinter dem Namen darf, nach einem Komma, eine E-Mail-Adresse stehen oder der Kontocode von jemandem, den du kennst. Alle Gefragten sehen die Namen, niemand die Adressen.',
    mail: 'Ist die Entscheidung angelegt, kannst du die Links per E-Mail verschicken lassen. Der Server, der sie verschickt, liest sie und könnte jemandes Platz einnehmen: Gib sie selbst weiter, wenn er das nicht können soll.',
    noMail:
      'Kein Server hier verschickt E-Mails: Du bekommst für jede Person einen Link, den du selbst verschickst.',
    file: 'Aus einer Tabelle (CSV) …',
    me: 'Ich entscheide mit, als',
    known: 'Menschen, mit denen du schon entschieden hast',
    knownHint:
      'Sie brauchen keine Einladung: Ihre Geräte haben bei den Servern Schlüssel hinterlegt. Wo sie so gefragt werden, nehmen sie immer unter demselben Konto teil.',
    sameName:
      'Wo mehrere denselben Namen haben, unterscheiden sie die Ziffern: Mit ihnen beginnt der Code, den jede und jeder auf dieser Seite unter „Dein Konto“ findet. Alle Gefragten sehen sie hinter dem Namen.',
    forget: (name: string) => `„${name}“ vergessen`,
    forgotten:
      'Vergessen. Öffnest du eine Entscheidung wieder, an der die Person teilnimmt, steht sie wieder hier.',
    count: (n: number) => `${people(n)} ${n === 1 ? 'wird' : 'werden'} entscheiden.`,
    wrong: (lines: number[]) => `Ohne eigenen Namen: Zeile ${lines.join(', ')}.`,
  },

  absence: {
    title: 'Wenn jemand wegbleibt',
    2: [
      'Zwei beliebige der drei Betreiber können einspringen',
      'Nach der Frist geben sie die angenommene Antwort, selbst wenn der dritte seinen Teil eines Schlüssels verloren hat. Bekannt wird nur das Ergebnis, solange ein Betreiber ehrlich ist. Ohne alle drei Betreiber gibt es kein Ergebnis.',
    ],
    3: [
      'Nur alle drei Betreiber zusammen',
      'Nach der Frist geben sie die angenommene Antwort, außer wenn einer seinen Teil eines Schlüssels verloren hat. Dafür können zwei von ihnen nie einen Schlüssel zusammensetzen. Bekannt wird nur das Ergebnis, solange ein Betreiber ehrlich ist. Ohne alle drei Betreiber gibt es kein Ergebnis.',
    ],
    0: [
      'Niemand',
      'Dann gibt es kein Ergebnis. Dafür hat nie ein Betreiber etwas von irgendjemandes Schlüssel.',
    ],
    assumed: 'Wer wegbleibt, zählt als',
    all: {
      title: 'Wenn jemand wegbleibt, gibt es kein Ergebnis: Alle müssen antworten',
      2: [
        'Zwei beliebige der drei Betreiber könnten einen Schlüssel zusammensetzen',
        'Sie haben Teile jedes Schlüssels, springen aber nicht ein. Bekannt wird nur das Ergebnis, solange ein Betreiber ehrlich ist.',
      ],
      3: [
        'Nur alle drei Betreiber zusammen könnten einen Schlüssel zusammensetzen',
        'Sie haben Teile jedes Schlüssels, springen aber nicht ein. Bekannt wird nur das Ergebnis, solange ein Betreiber ehrlich ist.',
      ],
      0: ['Niemand', 'Nie hat ein Betreiber etwas von irgendjemandes Schlüssel.'],
    },
  },
  acceptBy: 'Annehmen bis',
  acceptByHint: (ends: boolean) =>
    `Geantwortet werden kann, sobald alle angenommen haben. ${ends ? 'Hat jemand es zu diesem Zeitpunkt nicht getan, endet es ohne Ergebnis' : 'Zu diesem Zeitpunkt geht es ohne die weiter, die es nicht getan haben'}; ihre Namen siehst du vorher.`,
  acceptByOpen:
    'Bis dahin kann mit dem Link angefragt werden. Beginnen kannst du jederzeit vor der Frist.',
  allNeeded: 'Alle sind nötig: Hat jemand bis dahin nicht angenommen, endet es ohne Ergebnis',
  deadline: 'Frist für Antworten',
  deadlineHint: 'Haben alle geantwortet, endet es früher.',
  quorum: 'Wie viele müssen antworten?',
  quorumHint: (usual: number, people: number, all: boolean) =>
    people < 3
      ? 'Mit weniger Antworten wird nichts geöffnet.'
      : all
        ? 'Alle müssen antworten: Bleibt jemand weg, wird nichts geöffnet.'
        : `Mit weniger Antworten wird nichts geöffnet, wer auch immer weggeblieben ist. Wenn du nichts anderes sagst: ${usual}, mindestens drei.`,
  quorumOpen:
    'Mit weniger Antworten wird nichts geöffnet. Wenn du nichts anderes sagst: die Hälfte der Teilnehmenden, mindestens drei. Nehmen nur drei teil, müssen alle antworten, und niemand springt ein.',
  two: 'Beide müssen antworten. Am Ergebnis können beide oft erkennen, was die andere Person gesagt hat.',

  code: 'Eröffnungscode',
  codeHint:
    'Du bekommst ihn von denen, die die Server betreiben. Er wird beim Anlegen gesendet und nicht aufbewahrt.',
  adminHint:
    'Hier dürfen nur die Betreiber der Server Entscheidungen anlegen; gefragt ist ihr Token. Er wird einmal gesendet und nicht aufbewahrt.',

  complaint: {
    question: 'Schreib die Frage auf.',
    options: 'Jede Antwort braucht eigene Worte.',
    ballots: 'Gib mindestens einen Termin an, höchstens zwanzig.',
    people: 'Mindestens zwei Personen müssen entscheiden, höchstens 200.',
    ranges: 'Ein Termin muss anfangen, bevor er endet.',
    deadline: 'Die Frist muss in der Zukunft liegen, höchstens 400 Tage voraus.',
    'accept-by': 'Der Zeitpunkt für das Annehmen muss in der Zukunft und vor der Frist liegen.',
    quorum: 'Antworten müssen mindestens drei (von zweien zwei) und höchstens alle.',
    enough: 'Wie viele genug sind, muss zwischen eins und der Zahl der Personen liegen.',
    large:
      'Das ist zu viel für einen Besuch: Frag weniger Personen, oder gib weniger Antworten oder Termine an.',
    table: 'Füll die Tabelle neu aus: Die Zahl der Personen oder der Antworten hat sich geändert.',
    names: 'Jede Person braucht einen Namen, der wie kein anderer aussieht.',
    seats: 'Zwei dieser Personen haben dasselbe Konto.',
    long: 'Die Frage darf etwa 500 Buchstaben haben, jeder Name und jede Antwort etwa 100.',
    labels: 'Jeder Termin muss ein anderer sein.',
    function: 'Diese Regel braucht genau zwei Antworten.',
    assumed: 'Wähl aus, welche Antwort für die zählt, die wegbleiben.',
    threshold: 'Wähl aus, wer für die einspringt, die wegbleiben.',
  },
  submit: 'Entscheidung anlegen',
  makeLink: 'Den Link machen',
  makingLink: 'Wird unterschrieben …',
  making: 'Die drei Betreiber werden um ihre Schlüssel gebeten, und es wird unterschrieben …',
  failed: (reason: string) => `Die Entscheidung wurde nicht angelegt: ${reason}.`,
  perhaps: (reason: string) =>
    `Vielleicht wurde die Entscheidung angelegt: ${reason}. Sieh unter „Deine Entscheidungen“ nach, bevor du sie noch einmal anlegst.`,
  unreachable: 'der erste Server hat sie angenommen, doch die anderen zeigen sie noch nicht',
  notBegun: {
    layer: (server: string) =>
      `${server} gab einen Schlüssel, der nicht der eigene ist oder nicht für diese Entscheidung; sag es denen, die die Server betreiben`,
    altered: 'der erste Server nennt eine andere Entscheidung als die gewünschte',
  },

  mine: {
    links: 'Deine Links für alle',
    title: 'Deine Entscheidungen',
    forget: (question: string) => `„${question}“ von dieser Liste nehmen`,
    forgotten: 'Von der Liste genommen. Der Link öffnet sie weiterhin.',
    warning: (question: string) =>
      `Du hast „${question}“ angelegt. Die noch nicht benutzten Einladungen sind nur in diesem Browser; sie sind verloren, wenn du die Entscheidung von der Liste nimmst.`,
    warningYes: 'Von der Liste nehmen',
  },

  account: {
    title: 'Dein Konto',
    text: 'Es lebt nur in diesem Browser und unter dieser Adresse: ein Schlüssel, kein Passwort, keine E-Mail-Adresse. Unter der Adresse eines anderen Servers hast du ein anderes. Mit seinem Code können andere dich ohne Link fragen.',
    code: 'Dein Kontocode',
    save: 'Als Datei speichern …',
    load: 'Aus einer Datei laden …',
    warning:
      'Wer diese Datei hat, ist in jeder Entscheidung du. Bewahre sie auf, wo nur du hinkommst, und benutze das Konto immer nur in einem Browser.',
    warningYes: 'Datei speichern',
    replace:
      'An die Stelle des Kontos in diesem Browser tritt das aus der Datei. Hast du es nicht gespeichert, ist es verloren und mit ihm dein Platz in seinen Entscheidungen.',
    replaceYes: 'Ersetzen',
    loaded: 'Das Konto wurde geladen.',
  },
};
