import type { Host } from '../en/host';
import { clock, duration, moment, several, spoken } from './words';

const messages = (n: number) => several(n, 'Nachricht', 'Nachrichten');
const members = (n: number) => several(n, 'Mitglied', 'Mitglieder');
/** Ein Tag, wie die Server sie zählen. */
const serversDay = (at: number) =>
  new Date(at).toLocaleDateString('de', { dateStyle: 'long', timeZone: 'UTC' });

export const de: Host = {
  connecting: 'Die Schlüssel der Server werden mit deinem Link verglichen …',
  title: 'Leitung',
  notHost:
    'Der Schlüssel dieses Links leitet diesen Raum nicht, oder nicht mehr. Du kannst zusehen, sonst nichts.',
  coHost: (name: string) => `Du leitest mit als „${name}“.`,
  closed:
    'Der Raum ist geschlossen. Er nimmt keine Nachrichten mehr; seine Wand kannst du noch aufräumen.',
  failed: (reason: string) => `Das wurde nicht getan: ${reason}.`,
  dismiss: 'Hinweis schließen',
  working: 'Wird unterschrieben und gesendet …',

  leave: {
    prompt: (invitations: number, coHosts: number) =>
      `Diese Seite verlassen? ${[...(invitations > 0 ? [several(invitations, 'Einladungslink', 'Einladungslinks')] : []), ...(coHosts > 0 ? [several(coHosts, 'Link zum Mitleiten', 'Links zum Mitleiten')] : [])].join(' und ')} ${invitations + coHosts === 1 ? 'steht' : 'stehen'} nur auf dieser Seite und nirgends sonst. Was du nicht gedruckt, gesichert oder weitergegeben hast, ist verloren.`,
    now: 'Verlassen und verlieren',
  },

  retention: {
    erases: (days: number) =>
      `Was gesagt wird, wird nach ${several(days, 'Tag', 'Tagen')} gelöscht`,
    keeps: 'Was gesagt wird, bleibt, solange die Server laufen',
    next: (upTo: number, at: number) =>
      `Als Nächstes, bis ${moment(at)}, löschen die Server, was am ${serversDay(upTo)} oder davor veröffentlicht wurde.`,
    fresh: (at: number) =>
      `Was jetzt veröffentlicht wird, ist bis ${moment(at)} gelöscht. Gezählt werden Tage der Weltzeit (UTC); so viele ganze Tage bleibt jeder Text mindestens.`,
    stays:
      'Fingerabdrücke und Unterschriften bleiben, damit sich die Aufzeichnung prüfen lässt. Wer einen Text lesen konnte, kann ihn kopiert haben; was du behalten willst, kannst du unter „Raum“ mitnehmen.',
  },

  tabs: {
    label: 'Teile der Leitungsseite',
    messages: 'Nachrichten',
    polls: 'Umfragen',
    share: 'Teilen',
    people: 'Leute',
    room: 'Raum',
  },

  now: {
    label: 'Der Raum in diesem Augenblick',
    present: (n: number) => several(n, 'Person nimmt teil', 'Personen nehmen teil'),
    epoch: (n: number) => `Epoche ${n}`,
    seals: (seconds: number) => `versiegelt in ${duration(seconds)}`,
    sealing: 'wird versiegelt',
    company: 'wartet auf Einwürfe',
    overdue: (names: string[]) =>
      names.length === 0
        ? 'wartet auf frühere Epochen'
        : `wartet auf das Wort von ${spoken(names)}`,
    overdueHint: (names: string[], { since, opening }: { since: number; opening: boolean }) =>
      names.length === 0
        ? `Sie hätte um ${clock(since)} versiegelt werden können, aber frühere werden noch gemischt. Verloren ist nichts.`
        : `Sie hätte um ${clock(since)} ${opening ? 'beginnen' : 'versiegelt werden'} können; das Wort von ${spoken(names)} fehlt. Verloren ist nichts, und von hier aus hilft nichts: Bitte die, die ${spoken(names)} betreiben, nachzusehen. Woran es liegt, kann dort sein, auf dem Weg dorthin oder bei einem Server, auf den dort wiederum gewartet wird.`,
    waits: (here: number, expected: number | null, missing: number) =>
      `${here}${expected === null ? '' : ` von etwa ${expected}`} ${here === 1 ? 'ist' : 'sind'} da; noch ${missing}, dann erscheinen Nachrichten`,
    practice: 'Zum Üben, ohne Menge',
    stock: 'wartet, bis die Server Masken vorbereitet haben',
    unknown: 'kein Server antwortet',
    away: (names: string[]) =>
      `${spoken(names)} ${names.length === 1 ? 'antwortet' : 'antworten'} nicht`,
    projector: 'Leinwand öffnen',
  },

  list: {
    title: 'Nachrichten',
    show: 'Zeigen',
    filter: {
      all: 'Alle',
      new: 'Neue',
      unanswered: 'Offene',
      answered: 'Beantwortete',
      pinned: 'Angeheftete',
      hidden: 'Verborgene',
    },
    group: 'Gruppe',
    everyGroup: 'Alle Gruppen',
    search: 'Suchen',
    order: 'Reihenfolge',
    orders: { newest: 'Neueste zuerst', oldest: 'Älteste zuerst', votes: 'Meiste Stimmen zuerst' },
    empty:
      'Noch ist nichts veröffentlicht. Teile den Raum, und Epoche für Epoche erscheinen hier Nachrichten.',
    none: 'Keine Nachricht ist so.',
    more: 'Mehr Nachrichten zeigen',
    announce: (n: number) => several(n, 'neue Nachricht', 'neue Nachrichten'),
    keys: 'Tasten',
    keysHint:
      'In der Liste: ↑ und ↓ gehen von Nachricht zu Nachricht. A beantwortet, P anheften, H verbergen, V freigeben, S allein zeigen, G Gruppe.',
    among: (epoch: number, n: number) => `Epoche ${epoch}, gemischt unter ${n}`,
    erased: 'Gelöscht. Der Fingerabdruck bleibt in der Aufzeichnung.',
    answer: 'Beantwortet',
    pin: 'Anheften',
    hide: 'Verbergen',
    alone: 'Allein zeigen',
    approve: 'Freigeben',
    regroup: 'Gruppe …',
    erase: 'Löschen …',
    actions: 'Was mit dieser Nachricht geschehen soll',
    hidden: 'verborgen',
    hiddenHint: (n: number) =>
      `${several(n, 'Nachricht ist', 'Nachrichten sind')} verborgen. Alle sehen diese Zahl, niemand die Texte.`,
    waiting: (n: number) =>
      `${messages(n)} nicht freigegeben: Die Leinwand zeigt ${n === 1 ? 'sie' : 'diese'} nicht.`,
    groupPrompt: 'Name der Gruppe',
    groupSave: 'In die Gruppe legen',
    groupNone: 'Aus der Gruppe nehmen',
    cancel: 'Abbrechen',
    erasePrompt:
      'Diese Nachricht löschen? Die Server löschen ihren Text für immer. Dass etwas gelöscht wurde, bleibt für alle sichtbar. Soll sie nur von den Wänden verschwinden, verbirg sie.',
    eraseNow: 'Für immer löschen',
  },

  polls: {
    title: 'Umfragen',
    intro:
      'Antworten reisen als anonyme Nachrichten einer versiegelten Epoche. Jede Person hat darin einen Platz; so stimmt niemand zweimal ab, und niemand sieht, wer abgestimmt hat oder ob.',
    ask: 'Eine Frage stellen',
    question: 'Frage',
    kind: 'Art der Antwort',
    one: 'Eine Antwort',
    several: 'Mehrere Antworten',
    rating: 'Eine Note ab 1',
    text: 'Ein paar Worte',
    options: 'Mögliche Antworten',
    option: (n: number) => `Antwort ${n}`,
    addOption: 'Antwort hinzufügen',
    dropOption: (n: number) => `Antwort ${n} entfernen`,
    ranking: 'Eine Reihenfolge',
    complaints: {
      question: 'Es fehlt noch die Frage.',
      long: 'Die Frage ist zu lang: höchstens 500 Bytes, und ein Umlaut braucht zwei.',
      options: 'Gib mindestens zwei mögliche Antworten an.',
      same: 'Zwei Antworten sind gleich.',
      longOption: 'Eine der Antworten ist zu lang: höchstens 200 Bytes.',
      epoch: 'Kein Server antwortet; eine Frage lässt sich stellen, sobald einer es tut.',
    },
    highest: 'Höchste Note',
    time: 'Zeit zum Antworten',
    timeLabel: (seconds: number) => `etwa ${duration(seconds)}`,
    timeWaits: (missing: number) =>
      `Die Zeit läuft erst, wenn genug da sind: ${several(missing, 'Person fehlt', 'Personen fehlen')}.`,
    timeStands: 'Die Zeit läuft nicht: Der Raum wartet auf einen Server, wie oben steht.',
    timeHint: (epoch: number, at: number | null) =>
      `Versiegelt in Epoche ${epoch}${at === null ? '' : `, etwa um ${clock(at)}`}. Bis dahin bewahren die Geräte die Antworten auf, und man kann sie ändern.`,
    noEpoch: 'Kein Server antwortet; eine Frage lässt sich stellen, sobald einer es tut.',
    send: 'Fragen',
    sent: 'Gefragt. Die Frage ist jetzt auf allen Bildschirmen.',
    none: 'Du hast noch nichts gefragt.',
    withdraw: 'Zurückziehen',
    withdrawPrompt:
      'Diese Umfrage zurückziehen? Ihre Antworten zählen dann nicht mehr, und die Leinwand zeigt sie nicht länger.',
    withdrawNow: 'Zurückziehen',
    again: 'Noch einmal fragen',
    againHint:
      'Frage noch einmal: Geräte, auf denen die Seite noch offen ist, geben von selbst dieselbe Antwort, wenn sie nicht geändert wird.',
    openVote: 'In einem offenen Raum kann jemand mit mehreren Geräten mehrmals abstimmen.',
  },

  round: {
    open: 'Darüber abstimmen …',
    usual: 'Was soll als Nächstes drankommen?',
    about: (n: number) => `Über ${messages(n)} abstimmen lassen?`,
    hint: 'Über die der Liste, wie sie jetzt ist, ohne verborgene und beantwortete, höchstens 100. Alle Stimmzettel werden in einer Epoche versiegelt; niemand zählt doppelt. Eine spätere Runde beginnt von vorn, ihre Stimmen treten an die Stelle dieser.',
    start: 'Abstimmung beginnen',
    started: (n: number) => `Die Abstimmung über ${messages(n)} läuft.`,
    few: 'Für eine Abstimmung braucht es zwei Nachrichten, die weder verborgen noch beantwortet sind.',
  },

  quiz: {
    reveal: 'Richtige Antwort zeigen …',
    correct: 'Richtige Antwort ändern …',
    one: 'Welche Antwort ist richtig?',
    several: 'Welche Antworten sind richtig?',
    show: 'Allen zeigen',
    hint: 'Jedes Gerät sagt der Person davor, ob ihre Antwort richtig war. Sonst erfährt es niemand; eine Rangliste von Personen gibt es also nicht.',
  },

  prepared: {
    title: 'Vorbereitete Fragen',
    hint: 'Sie sind nur auf diesem Gerät, bis du sie stellst.',
    keep: 'Für später aufheben',
    ask: 'Jetzt fragen',
    edit: 'Ändern',
    changing:
      'Diese änderst du gerade, oben. Hier bleibt sie, wie sie ist, bis du sie aufhebst oder stellst.',
    leave: 'So lassen, wie sie war',
    up: 'Früher',
    down: 'Später',
    drop: 'Entfernen',
    moved: (place: number) => `Jetzt an Stelle ${place}.`,
    save: 'Als Datei sichern',
    load: 'Aus einer Datei hinzufügen',
    loaded: (n: number) => `${several(n, 'Frage', 'Fragen')} hinzugefügt.`,
    failed: (reason: string) => `Es wurde nichts hinzugefügt: ${reason}.`,
  },

  share: {
    title: 'Den Raum teilen',
    link: 'Link zum Raum',
    linkHint:
      'Er enthält einen Fingerabdruck der Schlüssel der Server: Wer ihm folgt, nimmt keine anderen Server an.',
    code: 'Kurzer Code',
    codeHint: (origin: string) =>
      `Einzugeben bei ${origin}. Wer ihn eingibt, vertraut diesem einen Server, dass er die anderen nennt; beim Link und beim QR-Code ist das nicht nötig.`,
    qr: 'QR-Code mit dem Link zum Raum',
    projector: 'Leinwand',
    projectorHint:
      'Für den Beamer: Wand, Umfragen und wie man teilnimmt. Es steht nichts Geheimes darauf.',
    copy: 'Kopieren',
    copied: 'Kopiert',
    show: 'Zeigen',
    conceal: 'Verdecken',
    members:
      'Dieser Raum ist für Mitglieder. Mit dem Link lesen andere die Wand, nehmen aber nicht teil: Gib jeder Person eine Einladung, unter „Leute“.',
  },

  people: {
    title: 'Leute',
    open: 'Der Raum ist offen: Wer den Link hat, nimmt teil. Niemand muss zugelassen werden.',
    count: (n: number, open: number) =>
      open === 0
        ? members(n)
        : `${members(n)}, dazu ${several(open, 'unbenutzte Einladung', 'unbenutzte Einladungen')}`,
    invite: 'Einladungslinks machen',
    inviteHint:
      'Ein Link ist eine Person: ein Platz in einer Epoche, eine Stimme. Das erste Gerät, das mit ihm teilnimmt, macht einen eigenen Schlüssel, und der Link ist verbraucht. Drucke die Links, mische die Blätter und lass ziehen, damit niemand weiß, wem welcher gehört.',
    number: 'Wie viele',
    make: 'Links machen',
    making: 'Die Links entstehen …',
    made: (n: number) =>
      `${several(n, 'Link ist', 'Links sind')} fertig. Sie sind nirgends sonst: Drucke oder sichere sie, bevor du diese Seite verlässt.`,
    print: 'Für jede Person ein Blatt drucken',
    save: 'Als Liste sichern',
    copy: 'Alle kopieren',
    forget: 'Links von dieser Seite entfernen',
    sheet:
      'Scanne ihn oder tippe die Adresse, auf dem Gerät, auf dem du schreiben willst. Er ist nur für dich und gilt für ein Gerät: eine Person, eine Stimme.',
    invitation: (number: number) => `Einladung ${number}`,
    used: 'benutzt',
    unused: 'noch nicht benutzt',
    trust:
      'Wer einen Link zuerst benutzt, bekommt den Platz; unten siehst du, welche benutzt sind. Im Namen derer, die ihren benutzt haben, kannst du nichts lesen und nichts sagen. Hat jemand anders einen Link benutzt, so entziehe die Einladung und gib der Person eine neue.',
    list: 'Schlüssel aus einer Liste zulassen',
    listHint:
      'Die Leute finden ihren Schlüssel auf der Seite des Raums. Ein Schlüssel in jeder Zeile, 64 Zeichen.',
    admit: 'Zulassen',
    admitted: (n: number) => `${several(n, 'Schlüssel', 'Schlüssel')} zugelassen.`,
    wrong: (lines: number[]) =>
      `Kein Schlüssel: ${lines.length === 1 ? 'Zeile' : 'Zeilen'} ${spoken(lines.map(String))}. Ein Schlüssel hat 64 Zeichen von 0 bis 9 und a bis f.`,
    nothing: 'Alle diese sind schon zugelassen.',
    members: 'Einladungen und zugelassene Schlüssel',
    from: 'Sie zählen ab der nächsten Epoche.',
    dismiss: 'Ausschließen',
    dismissOne: (name: string) => `${name} ausschließen`,
    dismissPrompt:
      'Dieses Mitglied ausschließen? Ab der nächsten Epoche nimmt es nicht mehr teil, und eine Einladung lässt sich nicht mehr einlösen. Was gesagt wurde, bleibt.',
    more: 'Mehr zeigen',

    hosts: 'Mitleitende',
    hostsHint:
      'Wer mitleitet, kann, was du kannst, außer andere dazu zu ernennen. Alles ist mit dem jeweils eigenen Schlüssel unterschrieben.',
    you: 'du',
    first: 'Erste Leitung',
    hostName: 'Name der Person, die mitleitet',
    addHost: 'Link zum Mitleiten machen',
    hostLink: (name: string) => `Link für ${name}`,
    hostLinkHint:
      'Er steht nur auf dieser Seite, bis du sie verlässt. Gib ihn nur dieser Person, auf einem Weg, auf dem andere nicht mitlesen.',
    passedOn: 'Weitergegeben: von dieser Seite nehmen',
    removed: 'leitet nicht mehr mit',
    removeHost: (name: string) => `${name} entfernen`,
    remove: 'Entfernen',
    removePrompt: (name: string) => `${name} entfernen? Was ${name} getan hat, bleibt getan.`,
    onlyFirst: 'Nur die erste Leitung ernennt Mitleitende.',
  },

  crowd: {
    title: 'Wie viele genug sind',
    now: (enough: number) => `Nachrichten erscheinen ab ${several(enough, 'Person', 'Personen')}.`,
    lowered: (before: number) => `Als der Raum eröffnet wurde, waren es ${before}.`,
    practice: 'Dieser Raum ist zum Üben: Auch was eine einzelne Person sagt, wird veröffentlicht.',
    hint: 'Du kannst die Zahl senken, aber nicht wieder heben. Alle erfahren davon, und wer schon dabei war, spricht erst wieder nach einer Zustimmung.',
    lower: (enough: number) => `Auf ${enough} senken`,
    prompt: (enough: number) =>
      `Nachrichten ab ${several(enough, 'Person', 'Personen')} erscheinen lassen?${enough < 3 ? ' Das verbirgt niemanden: Zu zweit weiß jede Person, was die andere gesagt hat, und die Server wissen es womöglich auch.' : ''} Die wartende Epoche beginnt von vorn, und eine Frage, die in ihr offen ist, muss neu gestellt werden. Heben lässt sich die Zahl nicht mehr.`,
    yes: (enough: number) => `Ab ${enough}`,
  },

  room: {
    moderation: 'Moderation',
    moderated: 'Die Leinwand zeigt nur freigegebene Nachrichten',
    moderatedHint:
      'Die Seite des Raums zeigt alle Nachrichten, die nicht verborgen sind: Was die Server veröffentlicht haben, ist öffentlich. Antworten in Worten auf Umfragen werden auf der Leinwand dann gezählt, nicht gezeigt.',
    recovery: 'Dein Schlüssel',
    recoveryHint:
      'Dieser Link ist dein Schlüssel. Auf einem anderen Gerät öffne ihn dort. Verlierst du ihn, kann ihn niemand ersetzen: Bewahre ihn auf, wo du Passwörter aufbewahrst, oder mache einen Link zum Mitleiten für dein zweites Gerät.',
    hostLink: 'Leitungslink',
    download: 'Als Datei sichern',
    file: (name: string, link: string) =>
      `Leitungslink von „${name}“. Wer ihn hat, leitet den Raum.\r\n\r\n${link}\r\n`,
    export: 'Mitnehmen',
    exportHint:
      'Tabellen für ein Rechenblatt, eine Datei für Programme, ein Bericht zum Drucken und die Aufzeichnung mit allen Unterschriften, die jeder prüfen kann.',
    unread: 'Sobald die ganze Wand gelesen ist.',
    csvMessages: 'Nachrichten (CSV)',
    csvPolls: 'Umfragen (CSV)',
    json: 'Alles (JSON)',
    record: 'Unterschriebene Aufzeichnung',
    print: 'Bericht drucken',
    end: 'Schließen oder löschen',
    closeHint:
      'Schließen beendet den Raum: keine Nachrichten und keine Umfragen mehr. Die Wand bleibt. Er lässt sich nicht wieder öffnen.',
    close: 'Raum schließen …',
    closePrompt:
      'Den Raum für immer schließen? Nachrichten, die noch nicht veröffentlicht sind, gehen verloren.',
    closeNow: 'Raum schließen',
    deleteHint:
      'Löschen schließt den Raum, und die Server löschen alle Texte. Fingerabdrücke und Unterschriften bleiben, damit später niemand andere Texte behaupten kann. Was sich Leute inzwischen kopiert haben, erreichst du nicht.',
    delete: 'Alles löschen …',
    deletePrompt:
      'Alles löschen, was in diesem Raum gesagt wurde? Das lässt sich nicht rückgängig machen.',
    deleteNow: 'Alles löschen',
  },

  report: {
    title: 'Bericht',
    made: (at: string) => `Erstellt am ${at}`,
    people: (most: number) => `Bis zu ${several(most, 'Person', 'Personen')} in einer Epoche`,
    said: (n: number, epochs: number) =>
      `${messages(n)} in ${several(epochs, 'Epoche', 'Epochen')}`,
    hidden: (n: number) =>
      `${several(n, 'Nachricht wurde', 'Nachrichten wurden')} von der Leitung verborgen und ${n === 1 ? 'ist' : 'sind'} hier nicht gedruckt.`,
    erased: (n: number) => `${several(n, 'Nachricht wurde', 'Nachrichten wurden')} gelöscht.`,
    polls: 'Umfragen',
    questions: 'Nachrichten',
    ungrouped: 'Ohne Gruppe',
    answered: 'beantwortet',
    pinned: 'angeheftet',
    verify: 'Wie sich dieser Bericht prüfen lässt',
    steps: [
      'Öffne den Link unten. Die Seite liest die Wand von den Servern und prüft jede Unterschrift; sie zeigt denselben Fingerabdruck.',
      'Oder auf der Kommandozeile: Hole die unterschriebene Aufzeichnung mit „ostrakon export LINK -o board.json“ und prüfe sie, ohne Netz, mit „ostrakon verify board.json --link LINK“.',
      'Der dort genannte Fingerabdruck ist genau dann der hier gedruckte, wenn die Wand dieselbe ist.',
    ],
    link: 'Link',
    board: 'Fingerabdruck der Wand',
    actions: (n: number) => `Fingerabdruck von ${several(n, 'Handlung', 'Handlungen')} der Leitung`,
    uncounted: 'Noch nicht ausgezählt.',
    tally: 'Die Antworten hat dieses Gerät gezählt, aus der unterschriebenen Wand.',
  },
};
