import type { Room } from '../en/room';
import { clock, duration, several, spoken } from './words';

const people = (n: number) => several(n, 'Person nimmt', 'Personen nehmen');

export const de: Room = {
  connecting: 'Die Schlüssel der Server werden mit deinem Link verglichen …',
  aside: 'Wie es um den Raum steht',
  closed: 'Dieser Raum ist geschlossen. Seine Wand bleibt.',
  elsewhere:
    'Dieser Raum ist in einem anderen Tab dieses Browsers offen, und jener nimmt teil. Hier kannst du mitlesen.',
  reading: 'Du liest mit. Die Server sehen, dass diese Seite offen ist, und sonst nichts von dir.',
  admission: 'Es wird gelesen, wen der Host zugelassen hat …',
  offline:
    'Kein Server antwortet. Du siehst, was dieses Gerät aufbewahrt hat, so wie es damals geprüft wurde. Auch was du schreibst, bleibt hier, bis ein Server antwortet.',
  full: {
    own: 'Der Speicher dieses Browsers ist voll. Deine Nachricht steht nur auf dieser Seite und wird erst gesendet, wenn dieses Gerät sie aufbewahren kann: Sonst könnte ein Neuladen sie auf zwei Arten sagen. Lösche die Daten von Websites, die du nicht brauchst; diese Seite macht dann von selbst weiter. Schließe sie bis dahin nicht.',
    nothing:
      'Der Speicher dieses Browsers ist voll. Diese Seite gibt nichts ab, bevor dieses Gerät aufschreiben kann, was es tut: Sonst könnte ein Neuladen zunichtemachen, was dich verbirgt. Lösche die Daten von Websites, die du nicht brauchst; diese Seite macht dann von selbst weiter.',
  },
  purpose: 'Wozu dieser Raum da ist',

  join: {
    title: 'Bevor du teilnimmst',
    lead: 'Außer Fragen wurde noch nichts gesendet. Lies, was dieser Raum für dich tut, und entscheide.',
    take: 'Teilnehmen',
    read: 'Nur mitlesen',
    again: 'Doch teilnehmen',
    servers: 'Betrieben von',
    serversHint:
      'Je zwei von ihnen könnten zusammen das Mischen rückgängig machen. Würden diese es tun?',
    crowd: 'Die Menge',
    crowdNow: (n: number) => `${people(n)} jetzt teil.`,
    crowdBefore: (n: number) => `Die letzte Epoche wurde unter ${n} gemischt.`,
    crowdMinimum: (enough: number, minimum: number) =>
      minimum > 0
        ? `Nachrichten erscheinen ab ${several(enough, 'Person', 'Personen')}.${minimum === 1 ? ' Zwei verbergen sich nicht voreinander, und noch weniger vor einem Server, der selbst teilnimmt.' : ''}`
        : 'Dieser Raum ist zum Üben. Er veröffentlicht auch, was eine einzelne Person sagt, und dann wissen alle, von wem es ist.',
    cheat: 'Wenn ein Server betrügt',
    fair: 'Die Epoche wird verworfen, ehe etwas aus ihr zu sehen ist, der Beweis wird veröffentlicht, und Nachrichten kommen in die nächste.',
    robust:
      'Die Epoche geht weiter: Ein als ehrlich erwiesener Server beendet sie allein und erfährt, wer in ihr was geschrieben hat.',
    kept: 'Wie lange es bleibt',
    keptDays: (days: number) =>
      `${duration(days * 86_400)}; dann löschen die Server die Worte. Die Kette ihrer Prüfsummen bleibt.`,
    keptOpen: 'Solange die Server laufen. Wer es lesen konnte, kann es kopiert haben.',
    who: 'Wer teilnehmen darf',
    open: 'Wer den Link hat.',
    members: (n: number) =>
      `Schlüssel, die die Leitung zugelassen hat, und Geräte, die ihre Einladungen benutzt haben: bisher ${n}.`,
    sybilTitle: 'Eine Person kann viele sein',
    sybilOpen:
      'Gezählt werden hier Geräte, nicht Menschen. Wer mit vielen kommt, kann der größte Teil der Menge sein und weiß, welche Nachrichten nicht von ihm sind. Dieser Raum ist offen: Die Server begrenzen, was eine Netzadresse belegt, mehr nicht. Vertraue der Zahl so weit, wie du denen vertraust, die den Link haben. Die Zahl „jetzt“ ist das Wort jedes einzelnen Servers; ein unehrlicher kann mehr sagen.',
    sybilMembers:
      'Gezählt werden hier Schlüssel, nicht Menschen. Dieser Raum nimmt nur Schlüssel, die seine Leitung zugelassen hat; wie viele es sind, wissen alle. Lässt die Leitung eigene Schlüssel zu, kann sie der größte Teil der Menge sein. Vertraue der Zahl so weit, wie du der Leitung vertraust. Die Zahl „jetzt“ ist das Wort jedes einzelnen Servers; ein unehrlicher kann mehr sagen.',
    overTitle: 'Mit der Zeit verraten Muster etwas',
    over: 'Wer notiert, wer in jeder Epoche da ist und in welchen Epochen Nachrichten einer Art erscheinen, kann eingrenzen, wer sie schreibt: nach genügend Epochen auf eine Person. Dagegen gibt diese Seite eine leere Scherbe ab, wenn du nichts zu sagen hast; da sein heißt also nicht sprechen. Es hilft, die ganze Zeit zu bleiben statt nur zum Sprechen zu kommen, und nicht über viele Epochen an einem erkennbaren Faden zu schreiben.',
    invited:
      'Dein Link ist eine Einladung für ein Gerät. Nimmst du teil, macht dieses Gerät einen eigenen Schlüssel, den niemand sonst je hat, und löst die Einladung damit ein. Danach nützt der Link niemandem mehr, auch dem nicht, der ihn gemacht hat. Nimm also auf dem Gerät teil, auf dem du schreiben willst.',
  },

  eased: {
    title: (enough: number) =>
      `Es genügen jetzt weniger: Nachrichten erscheinen ab ${enough} Leuten`,
    text: (before: number, minimum: number) =>
      `Als du beigetreten bist, erschienen Nachrichten ab ${several(before, 'Person', 'Personen')}. Bis du zustimmst, sagt dieses Gerät hier nichts: Es gibt leere Scherben ab, wie wenn du schweigst.${minimum === 1 ? ' Zu zweit weiß jede Person, was die andere gesagt hat.' : ''}`,
    agree: (enough: number) => `Zustimmen: ab ${enough} sprechen`,
  },

  claiming: 'Deine Einladung wird für dieses Gerät eingelöst …',
  claimAgain: (reason: string) =>
    `Das ist noch nicht gelungen: ${reason}. Diese Seite versucht es von selbst noch einmal.`,

  apart: {
    outside: {
      title: 'Dieses Gerät ist noch nicht zugelassen',
      text: [
        'In diesem Raum nehmen nur Schlüssel teil, die seine Leitung zugelassen hat. Gib ihr diesen Schlüssel oder bitte um einen Einladungslink.',
        'Sobald du zugelassen bist, beginnt diese Seite von selbst; bis dahin kannst du mitlesen.',
      ],
    },
    used: {
      title: 'Dieser Link wurde auf einem anderen Gerät benutzt',
      text: [
        'Eine Einladung gilt für ein Gerät: das erste, das mit ihr teilnimmt. Hier kannst du mitlesen.',
        'Ist das andere Gerät deines, so nimm dort teil oder hole seinen Schlüssel hierher: „Auf ein anderes Gerät umziehen“, unter „Mit anderen vergleichen“.',
        'War es jemand anders, so sag es der Leitung. Sie kann diese Einladung entziehen und dir eine andere geben.',
      ],
    },
    dismissed: {
      title: 'Die Leitung hat dieses Gerät ausgeschlossen',
      text: [
        'Sein Schlüssel nahm an diesem Raum teil und tut es nicht mehr. Was mit ihm gesagt wurde, bleibt an der Wand, und niemand weiß, welche Worte das sind. Du kannst mitlesen.',
        'Hältst du das für ein Versehen, so gib der Leitung diesen Schlüssel oder bitte um einen neuen Einladungslink. Wirst du wieder zugelassen, beginnt diese Seite von selbst.',
      ],
    },
    withdrawn: {
      title: 'Die Leitung hat diese Einladung zurückgenommen',
      text: [
        'Der Link lässt niemanden mehr ein. Hier kannst du mitlesen.',
        'Sollst du teilnehmen, so bitte die Leitung um einen neuen Einladungslink oder gib ihr deinen Schlüssel, wenn du es mit diesem schon versucht hast.',
      ],
    },
    moved: {
      title: 'Ein anderes Gerät von dir macht weiter',
      text: [
        'Dieses Gerät hat seinen Schlüssel in einer Datei abgegeben und nimmt nicht mehr teil. Öffne die Datei auf einem einzigen anderen Gerät, in diesem Raum, und lösche sie dann.',
      ],
    },
  },

  move: {
    ask: 'Auf ein anderes Gerät umziehen',
    hint: 'Sichert deinen Schlüssel und was noch nicht veröffentlicht ist in einer Datei und hört hier auf. Öffne die Datei auf dem anderen Gerät.',
    prompt:
      'Auf diesem Gerät aufhören und seinen Schlüssel in einer Datei sichern? Wer die Datei hat, ist in diesem Raum du. Öffne sie nur auf einem Gerät: Zwei Geräte mit einem Schlüssel würden verderben, was beide schützt.',
    now: 'Sichern und hier aufhören',
    again: 'Die Datei noch einmal sichern',
    file: 'schluessel',
    bring: 'Hier mit dem Schlüssel eines anderen Geräts weitermachen',
    bringHint: 'Wähle die Datei, die das andere Gerät gesichert hat. Dort muss es aufgehört haben.',
    failed: (reason: string) => `Das ging nicht: ${reason}.`,
  },

  key: {
    title: 'Dein Schlüssel in diesem Raum',
    text: 'Daran erkennen die Server dieses Gerät in diesem Raum und nirgends sonst. Er sagt nichts über dich; die Server sehen, dass er teilnimmt, nie, was er schreibt. Wer eine Mitgliederliste führt, bittet dich um ihn.',
  },

  compose: {
    label: 'Deine Nachricht',
    next: (epoch: number, at: number | null) =>
      at === null
        ? `Sie kommt in Epoche ${epoch}.`
        : `Sie kommt in Epoche ${epoch}, die etwa um ${clock(at)} versiegelt wird; dann wird gemischt und veröffentlicht.`,
    hint: (seconds: number) =>
      `Sie kommt in die nächste Epoche, die versiegelt wird; eine Epoche sammelt ${duration(seconds)} lang.`,
    left: (bytes: number, letters: number) =>
      letters < 20
        ? `noch ${several(bytes, 'Byte', 'Bytes')}`
        : `Platz für etwa ${letters} Buchstaben`,
    over: (bytes: number) => `${several(bytes, 'Byte', 'Bytes')} zu lang`,
    bytes: (limit: number) =>
      `Eine Nachricht hat ${limit} Bytes: Ein einfacher Buchstabe braucht eines, ä oder ж zwei, die meisten Emoji vier und mehr. Alle werden gleich lang gesendet.`,
    send: 'Ohne Namen senden',
    key: 'Strg + Enter sendet',
  },

  own: {
    title: 'Deine Nachricht',
    waiting: 'Auf diesem Gerät aufbewahrt. Sie kommt in die nächste Epoche.',
    inside: (epoch: number) =>
      `In Epoche ${epoch}. Sie bleibt auf diesem Gerät, bis sie an der Wand steht, und lässt sich jetzt nicht zurücknehmen.`,
    due: (at: number) =>
      `Versiegelt etwa um ${clock(at)}, kurz darauf gemischt und veröffentlicht.`,
    unkept: 'Nur auf dieser Seite, bis dieses Gerät sie aufbewahren kann.',
    resting: 'Auf diesem Gerät aufbewahrt. Sie wartet, bis diese Seite wieder teilnimmt.',
    back: 'Zurücknehmen und ändern',
    published: (epoch: number, among: number) =>
      `Deine Nachricht steht unverändert an der Wand: Epoche ${epoch}, gemischt unter ${among}.`,
    erased: (epoch: number) =>
      `Deine Nachricht ist an der Wand nicht zu lesen: In Epoche ${epoch} wurden Nachrichten gelöscht, und dieses Gerät nimmt an, dass deine darunter ist. Sie wird nicht noch einmal gesagt.`,
    signed: (servers: string[]) =>
      `Auf diesem Gerät geprüft: unterschrieben von ${spoken(servers)}. Wenn du gehst, weiß hier nichts mehr, welche es war.`,
    again: (epoch: number | null) =>
      epoch === null
        ? 'Die Epoche wurde ohne deine Nachricht veröffentlicht. Sie kommt in die nächste.'
        : `Epoche ${epoch} endete ohne Ergebnis, und nichts daraus wurde enthüllt. Deine Nachricht kommt in die nächste.`,
    held: (epoch: number, closed: boolean) =>
      `Epoche ${epoch} wurde aufgegeben, nachdem das Öffnen begonnen haben kann. Deine Nachricht steht nicht an der Wand, aber jemand kann sie gelesen haben. Von selbst wird sie nicht noch einmal gesagt${closed ? '.' : ': Nimm sie zurück, wenn du sie neu sagen willst.'}`,
    closed:
      'Sie ist auf diesem Gerät aufbewahrt und wurde nicht veröffentlicht. Der Raum nimmt nichts mehr an.',
  },

  polls: {
    title: 'Die Leitung fragt',
    earlier: (n: number) => `Frühere Fragen (${n})`,
    choose: 'Wähle eine Antwort',
    chooseSeveral: 'Wähle eine oder mehrere Antworten',
    chooseMessages: 'Wähle so viele, wie du willst. Jede zählt einmal.',
    rank: 'Berühre erst die beste, dann die nächste, bis zur letzten. Berührst du eine noch einmal, fällt sie wieder heraus.',
    place: (n: number) => `Platz ${n}`,
    pattern:
      'Was du hier wählst, wird als eine Liste veröffentlicht, ohne Namen. Wer ungewöhnlich wählt, und in der nächsten Runde wieder so, ist als dieselbe unbekannte Person wiederzuerkennen.',
    right: 'Sie ist richtig.',
    wrong: 'Richtig ist eine andere.',
    rate: (highest: number) => `Von 1 bis ${highest}`,
    words: 'Ein paar Worte',
    answer: 'Antworten',
    change: 'Antwort ändern',
    all: (epoch: number) =>
      `Alle Antworten kommen zusammen heraus, in Epoche ${epoch}, gemischt wie Nachrichten. Niemand antwortet zweimal, und wer nicht antwortet, sieht aus wie alle anderen.`,
    waiting: (epoch: number, at: number | null) =>
      at === null
        ? `Deine Antwort wird auf diesem Gerät bis Epoche ${epoch} aufbewahrt. Lass diese Seite bis dahin offen; du kannst sie noch ändern.`
        : `Deine Antwort wird auf diesem Gerät bis Epoche ${epoch} aufbewahrt, etwa ${clock(at)}. Lass diese Seite bis dahin offen; du kannst sie noch ändern.`,
    sent: (epoch: number) =>
      `Deine Antwort ist mit Epoche ${epoch} abgegeben und lässt sich nicht mehr ändern.`,
    counted: 'Deine Antwort wurde gezählt.',
    lost: 'Deine Antwort wurde nicht gezählt, und auch keine andere: Die Epoche endete ohne Ergebnis, und nichts daraus war zu sehen. Wird noch einmal gefragt, antwortet dieses Gerät ebenso, wenn du es nicht änderst.',
    missed:
      'Deine Antwort wurde nicht gezählt: Dieses Gerät hat sie nicht abgegeben, bevor die Epoche versiegelt war.',
    doubted:
      'Deine Antwort wurde nicht gezählt, und auch keine andere: Die Epoche wurde aufgegeben, nachdem das Öffnen begonnen haben kann; jemand kann deine Antwort also gelesen haben. Wird noch einmal gefragt, antwortet dieses Gerät nicht von selbst.',
    erased:
      'Deine Antwort ist nicht unter denen, die sich lesen lassen. Nachrichten dieser Epoche sind gelöscht; sie kann darunter sein.',
    late: 'Zum Antworten ist es zu spät: Dieses Gerät hat seine Scherbe für jene Epoche schon abgegeben.',
    unanswered: 'Du hast nicht geantwortet.',
  },

  epoch: {
    title: 'Epoche',
    number: (epoch: number) => `Epoche ${epoch}`,
    seals: (seconds: number) => `versiegelt in ${duration(seconds)}`,
    sealing: 'wird versiegelt',
    company: 'Genug sind da: Es wird auf ihre Einwürfe gewartet',
    overdue: (names: string[]) =>
      names.length === 0
        ? 'wartet auf frühere Epochen'
        : `wartet auf das Wort von ${spoken(names)}`,
    overdueHint: (names: string[], { since, opening }: { since: number; opening: boolean }) =>
      names.length === 0
        ? `Diese Epoche hätte um ${clock(since)} versiegelt werden können, aber frühere werden noch gemischt. Verloren ist nichts: Sie folgt, sobald die fertig sind.`
        : `Diese Epoche hätte um ${clock(since)} ${opening ? 'beginnen' : 'versiegelt werden'} können. Dazu müssen alle Server zustimmen, und das Wort von ${spoken(names)} fehlt. Verloren ist nichts, und nichts wird bekannt: ${opening ? 'Was du schreibst, bleibt auf diesem Gerät und wird abgegeben' : 'Was abgegeben ist, bleibt liegen und erscheint'}, wenn dieses Wort kommt. Neu laden hilft nicht, und kein anderer Server kann einspringen. Wenn es andauert, sag es dem Gastgeber oder denen, die ${spoken(names)} betreiben. Woran es liegt, kann dort sein, auf dem Weg dorthin oder bei einem Server, auf den dort wiederum gewartet wird.`,
    open: 'sammelt',
    stock: 'wartet, bis die Server Masken vorbereitet haben',
    unknown: 'noch antwortet kein Server',
    mixing: (epochs: number[]) =>
      `Wird gemischt: ${epochs.length === 1 ? 'Epoche' : 'Epochen'} ${epochs.join(', ')}`,
    present: (n: number) => `${people(n)} jetzt teil`,
    before: (n: number, epoch: number) =>
      `Epoche ${epoch}, die zuletzt veröffentlichte, wurde unter ${n} gemischt.`,
    presentHint: 'Je mehr teilnehmen, desto weniger sagt eine Nachricht darüber, wer sie schrieb.',
    waits: (here: number, expected: number | null, missing: number) =>
      `${here}${expected === null ? '' : ` von etwa ${expected}`} ${here === 1 ? 'ist' : 'sind'} da; noch ${missing}, dann erscheinen Nachrichten`,
    few: (enough: number, minimum: number) =>
      minimum > 0
        ? `Nachrichten erscheinen ab ${several(enough, 'Person', 'Personen')}; bis dahin warten sie.`
        : 'Dieser Raum ist zum Üben, ohne Menge: Auch was eine einzelne Person sagt, wird veröffentlicht, und alle wissen, von wem es ist.',
    part: {
      looking: 'Ein Server zum Teilnehmen wird gesucht',
      waiting: 'Du nimmst teil und wartest auf einen Platz',
      placed: 'Du nimmst teil und hast einen Platz in dieser Epoche',
      'handed-in': 'Du nimmst teil, deine Scherbe ist abgegeben',
      elsewhere: 'Ein anderer Tab nimmt teil',
      reading: 'Du liest mit',
      outside: 'Du liest mit, bis du zugelassen wirst',
      claiming: 'Deine Einladung wird eingelöst',
      moved: 'Ein anderes Gerät von dir nimmt teil',
      resting: 'Du nimmst nicht teil: Es war eine Weile niemand hier',
    },
    full: (places: number) =>
      `Alle ${several(places, 'Platz', 'Plätze')} dieser Epoche sind vergeben. Du nimmst teil, sobald jemand geht; bis dahin bleibt auf diesem Gerät, was du schreibst.`,
    coverTitle: 'Was diese Seite von selbst tut',
    cover: (hidden: number, untouched: number) => [
      'In jeder Epoche gibt sie eine Scherbe von gleicher Länge ab, eine leere, wenn du nichts zu sagen hast. So verrät das Teilnehmen nichts.',
      `War sie ${duration(hidden)} lang verdeckt oder ${duration(untouched)} lang unberührt, hält sie an, bis du wieder da bist; denn Seiten, die niemand ansieht, sollen nicht verbrauchen, was die Server vorbereitet haben. Das tut sie, ob du etwas zu sagen hast oder nicht; die Server können sehen, dass sie anhielt.`,
      'In einem Tab im Hintergrund macht sie bis dahin weiter. Browser bremsen solche Tabs, und Telefone halten sie womöglich an: Dann kann eine Epoche verpasst werden, und eine Nachricht kommt in die nächste.',
    ],
  },

  servers: {
    title: 'Server',
    reachable: 'antwortet',
    away: 'antwortet nicht',
    unasked: 'noch nichts gehört',
    present: (n: number) => several(n, 'Person', 'Personen'),
    home: 'deiner',
    pinned: 'Ihre Schlüssel sind die aus deinem Link.',
    at: (place: string) => `unter ${place}`,
  },

  verify: {
    title: 'Mit anderen vergleichen',
    text: (n: number) =>
      `Dieses Gerät hat ${several(n, 'Eintrag', 'Einträge')} geprüft, jeder von mindestens zwei Servern unterschrieben und mit dem vorigen verkettet. Wer hier dieselben Zeichen sieht, hat dieselbe Wand gelesen:`,
    none: 'Noch ist nichts veröffentlicht.',
    hosted: (n: number) =>
      `Ebenso unterschrieben und verkettet, was die Leitung tat (${several(n, 'Handlung', 'Handlungen')}):`,
    archive: 'Archiv herunterladen',
    archiveHint:
      'Eine Datei mit allen Einträgen und Unterschriften; „ostrakon verify“ prüft sie ohne jeden Server.',
    forget: 'Diesen Raum auf diesem Gerät vergessen',
    forgetHint:
      'Löscht hier deinen Schlüssel und alles Aufbewahrte. Eine nicht veröffentlichte Nachricht ist verloren, und in einem Raum für Mitglieder musst du neu zugelassen werden oder brauchst eine andere Einladung: Deine ist verbraucht.',
    forgetPrompt: (unpublished: boolean, members: boolean) =>
      `Diesen Raum auf diesem Gerät vergessen? Dein Schlüssel hier und alles Aufbewahrte werden gelöscht, und niemand kann sie zurückholen.${unpublished ? ' Deine Nachricht steht noch nicht an der Wand und kommt vielleicht nie dorthin.' : ''}${members ? ' Um wieder teilzunehmen, musst du neu zugelassen werden: Eine Einladung, die du benutzt hast, nützt nichts mehr.' : ''}`,
    forgetNow: 'Raum vergessen',
  },

  protection: {
    title: 'Was geschützt ist und was nicht',
    yesTitle: 'Geschützt',
    yes: [
      'Wer eine Nachricht schrieb. Einer der drei Server darf böswillig sein und erfährt doch nur, dass es jemand war, der an der Epoche teilnahm.',
      'Dass du überhaupt schreibst: Schweigen und Sprechen sehen gleich aus, solange diese Seite offen ist.',
      'Was an der Wand steht: Jeder Eintrag ist unterschrieben und verkettet und wird auf deinem Gerät geprüft.',
    ],
    noTitle: 'Nicht geschützt',
    no: [
      'Du bist in der Menge einer Epoche verborgen. Nehmen wenige teil, können es nur wenige geschrieben haben; die Zahl steht neben jedem Eintrag.',
      'Zwei der drei Server zusammen können das Mischen rückgängig machen. Wähle einen Raum, dessen Server von Leuten betrieben werden, die sich nicht absprechen.',
      'Dass und wann du teilnimmst, sehen die Server und dein Netz. Erscheinen Nachrichten einer Art nur, wenn du da bist, so sagt das etwas.',
      'Was du schreibst, kann dich verraten: Namen, Orte, Eigenheiten der Sprache.',
      'Diese Seite kam von einem der Server. Ein Server, der eine veränderte Seite ausliefert, kann allen, die sie laden, jedes Versprechen brechen.',
    ],
    robust:
      'Wird ein Server beim Betrügen ertappt, hält dieser Raum nicht an: Ein anderer Server beendet die Epoche allein und erfährt, wer in ihr was geschrieben hat.',
  },
};
