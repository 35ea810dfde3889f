import type { Decision, Visits } from '../en/decision';
import { moment, several, span, spoken, zoned } from './words';

const people = (n: number) => several(n, 'Person', 'Personen');

export const de: Decision = {
  title: 'Entscheidung',
  connecting: 'Die Schlüssel der Server werden mit deinem Link verglichen …',
  alone:
    'Bisher zeigt nur ein Server diese Entscheidung oder alles, was dieser Browser von ihr schon gesehen hat. Sobald ein zweiter dasselbe zeigt, geht es hier weiter.',
  busy: 'immer wieder kamen andere Einträge zuvor; lade die Seite neu, dann geht es weiter',
  different: 'ein Server zeigt einen anderen Verlauf dieser Entscheidung als die übrigen',

  verifying: {
    title: 'Alles, was bisher geschah, wird geprüft',
    text: 'Dieses Gerät glaubt keinem Server. Es prüft jede Unterschrift und jeden Beweis selbst.',
    progress: (done: number, all: number) => `${done} von ${several(all, 'Eintrag', 'Einträgen')}`,
  },

  refused: {
    title: 'Antworte nicht: Hier stimmt etwas nicht',
    text: (reason: string, sent: boolean) =>
      `Was gefunden wurde: ${reason}. ${sent ? 'Deine Antwort hat dieses Gerät vielleicht schon früher verlassen.' : 'Von diesem Gerät wurde keine Antwort gesendet.'} Sag es den anderen auf einem anderen Weg als über diese Seite, und frage die Person, die die Entscheidung angelegt hat. Wer die Server betreibt, sieht an den Einträgen, wer was unterschrieben hat.`,
    unknownTitle: 'Diese Entscheidung gibt es nicht',
    unknown:
      'Die Server kennen keine Entscheidung dieses Namens. Prüfe, ob der ganze Link kopiert wurde.',
    failedTitle: 'Die Entscheidung lässt sich nicht öffnen',
  },

  found: {
    decision: (n: number) =>
      `Eintrag ${n} gehört zu einer anderen Entscheidung oder zu anderen Servern`,
    signature: (n: number) =>
      `Eintrag ${n} ist nicht von der Person unterschrieben, die darin steht: Wer ihn gezeigt hat, hat ihn verändert`,
    rule: (n: number) => `Eintrag ${n} verstößt gegen die Regeln`,
    key: (n: number) =>
      `ein Schlüssel in Eintrag ${n} ist nicht, wie er sein muss: Er könnte aus den Schlüsseln anderer zusammengesetzt sein`,
    forked: (n: number) =>
      `Eintrag ${n} ist ein anderer, als dieses Gerät früher gesehen hat: Verschiedenen Menschen wird Verschiedenes gezeigt`,
    step: (n: number, name: string) =>
      `die Antwort in Eintrag ${n}, die „${name}“ unterschrieben hat, ist falsch`,
    shorter: (shown: number, seen: number) =>
      `gezeigt ${shown === 1 ? 'wird' : 'werden'} ${several(shown, 'Eintrag', 'Einträge')}, doch dieses Gerät hat früher ${seen} gesehen`,
    opening: (n: number) => `was Server ${n} geöffnet hat, ist falsch`,
  },

  distrusted: {
    title: (server: string) => `Der Server „${server}“ hat etwas gezeigt, das nicht stimmt`,
    text: (reason: string) =>
      `Was gefunden wurde: ${reason}. Geglaubt wurde es nicht, und diesem Server wird nichts mehr geglaubt. Was du hier siehst, zeigen die beiden anderen übereinstimmend. Hat er einen eigenen Eintrag gezeigt, so steht er unten als Beweis. Sag es den anderen Beteiligten und denen, die die Server betreiben.`,
  },

  rules: {
    majority: (option: string) =>
      `Angenommen ist, was mehr als die Hälfte mit „${option}“ beantwortet. Heraus kommt nur, ob es angenommen ist.`,
    unanimous: (option: string) =>
      `Angenommen ist, was alle mit „${option}“ beantworten. Heraus kommt nur, ob es angenommen ist.`,
    'at-least': (option: string, k: number) =>
      `Angenommen ist, was mindestens ${k} mit „${option}“ beantworten. Heraus kommt nur, ob es angenommen ist.`,
    veto: (option: string) =>
      `Angenommen ist, was niemand mit „${option}“ beantwortet. Heraus kommt nur, ob es angenommen ist, nicht, wie viele so geantwortet haben.`,
    parity: (option: string) =>
      `Heraus kommt nur, ob eine gerade oder eine ungerade Zahl „${option}“ sagt.`,
    plurality: {
      first:
        'Es gewinnt die häufigste Antwort, bei Gleichstand die, die zuerst steht. Heraus kommt nur der Gewinner.',
      none: 'Es gewinnt die häufigste Antwort, bei Gleichstand keine. Heraus kommt nur der Gewinner.',
    },
    tally: 'Heraus kommt, wie oft jede Antwort gegeben wurde, nicht, von wem.',
    custom:
      'Eine Tabelle sagt für jede Anzahl von Antworten, was herauskommt. Nur dieser eine Wert kommt heraus.',
  },
  row: (parts: string[]) => spoken(parts),
  span,
  value: 'Wert',
  table: 'Die Tabelle',

  accept: {
    title: (name: string) => `${name}, du sollst mitentscheiden`,
    text: (until: number, all: boolean) =>
      `Zwei kurze Besuche: Jetzt nimmst du an, später antwortest du. Nimmst du an, macht dieses Gerät einen Schlüssel für diese Entscheidung; Anteile davon bekommen die Server nur, wo sie für dich einspringen können. Antworten kannst du, sobald alle angenommen haben${all ? `; hat jemand es bis ${moment(until)} nicht getan, endet es ohne Ergebnis` : `, spätestens ab ${moment(until)}`}.`,
    remind: 'Den zweiten Besuch in den Kalender',
    reminder: (question: string) => `Antworten: ${question}`,
    button: 'Annehmen',
    doing: 'Der Schlüssel wird gemacht, und seine Anteile werden verteilt …',
    spent:
      'Diese Einladung wurde schon benutzt, auf einem anderen Gerät oder in einem anderen Browser. Warst du das nicht, sag es der Person, die die Entscheidung angelegt hat.',
    reader:
      'Du gehörst nicht zu denen, die entscheiden. Du siehst, was alle mit diesem Link sehen können.',
  },
  waiting: {
    title: 'Du hast angenommen',
    text: (names: string[], all: boolean) =>
      `${spoken(names)} ${names.length === 1 ? 'hat' : 'haben'} noch nicht angenommen. ${all ? 'Sobald es alle getan haben, kannst du hier antworten; hat jemand es nicht rechtzeitig getan, endet es ohne Ergebnis.' : 'Sobald es alle getan haben oder die Zeit zum Annehmen vorbei ist, kannst du hier antworten.'} Du darfst diese Seite schließen und mit demselben Link wiederkommen.`,
    anybody: (names: string[], all: boolean) =>
      `${spoken(names)} ${names.length === 1 ? 'hat' : 'haben'} noch nicht angenommen. ${all ? 'Geantwortet werden kann, sobald es alle getan haben; hat jemand es nicht rechtzeitig getan, endet es ohne Ergebnis.' : 'Geantwortet werden kann, sobald es alle getan haben oder die Zeit zum Annehmen vorbei ist.'}`,
  },

  deadline: (at: number) => `Bis ${moment(at)}`,
  acceptBy: (at: number) => `Annehmen bis ${moment(at)}`,
  ended: (at: number) => `Beendet am ${moment(at)}`,
  early: (at: number) => `Früher beendet, am ${moment(at)}: Alle hatten geantwortet`,
  quorum: (n: number) => `Geöffnet wird nur, wenn mindestens ${n} antworten.`,
  warnings: {
    'two-people':
      'Ihr entscheidet nur zu zweit: Am Ergebnis können beide oft erkennen, was die andere Person gesagt hat.',
    'lone-answer':
      'Ein Ergebnis dieser Tabelle kommt nur heraus, wenn genau eine Person eine bestimmte Antwort gibt: Es findet eine einzelne Antwort.',
  },
  people: {
    title: (n: number) => `${people(n)} ${n === 1 ? 'entscheidet' : 'entscheiden'}`,
    you: 'du',
    asks: 'stellt die Frage',
    invited: 'hat noch nicht angenommen',
    accepted: 'hat angenommen',
    answered: 'hat geantwortet',
    absent: 'ist weggeblieben',
    removed: 'wurde von der Liste genommen',
    late: 'hatte nicht rechtzeitig angenommen',
    verified: 'hat alles nachgeprüft',
  },

  answer: {
    title: 'Deine Antwort',
    asked: (ballots: number): string => (ballots > 1 ? 'Was gefragt wird' : 'Die Antworten'),
    rule: 'Wie entschieden wird',
    learns: 'Was andere erfahren können',
    assumed: (option: string) => `Wer wegbleibt, zählt als „${option}“.`,
    stands: {
      0: 'Niemand kann für Weggebliebene einspringen: Dann gibt es kein Ergebnis. Dafür hat kein Server etwas von deinem Schlüssel.',
      2: 'Bleibt jemand weg, geben nach der Frist zwei beliebige der drei Betreiber die angenommene Antwort. Bekannt wird nur das Ergebnis, solange ein Betreiber ehrlich ist.',
      all: 'Alle müssen antworten: Bleibt jemand weg, gibt es kein Ergebnis, obwohl die drei Betreiber Teile von jedem Schlüssel haben.',
      3: 'Bleibt jemand weg, geben nach der Frist alle drei Betreiber zusammen die angenommene Antwort. Bekannt wird nur das Ergebnis, solange ein Betreiber ehrlich ist.',
    },
    always:
      'Alle sehen das Ergebnis, wer geantwortet hat und in welcher Reihenfolge. Das Ergebnis selbst kann Antworten verraten: Waren alle einig, weiß jede und jeder, was alle gesagt haben.',
    after: (names: string[]) =>
      names.length === 0
        ? 'Nach dir kommt niemand mehr.'
        : `Nach dir ${names.length === 1 ? 'kommt' : 'kommen'} ${spoken(names)}.`,
    residual: (after: number, results: number) =>
      after === 0
        ? 'Darum lässt sich aus deiner Antwort nicht mehr erfahren, selbst wenn sich alle anderen und alle drei Betreiber verschwören.'
        : `${after === 1 ? 'Verschwört sich diese Person mit allen drei Betreibern' : 'Verschwören sich alle diese mit allen drei Betreibern'}, können sie sehen, was für jede ihrer eigenen möglichen Antworten herauskäme: ${several(results, 'Ergebnis', 'Ergebnisse')} statt eines einzigen. Ist auch nur einer von ihnen ehrlich, können sie es nicht. Wo alle nur einmal kommen, lässt sich das durch nichts verhindern.`,
    everything:
      'Von den Beteiligten kann niemand mehr als das über deine Antwort erfahren. Alle drei Betreiber zusammen könnten es: Weil sie für Weggebliebene einspringen können, könnten sie jede einzelne Antwort öffnen, auch deine. Zwei können es nicht, solange der dritte ehrlich ist. Der erste Betreiber allein kann nicht früher schließen und niemanden weglassen, dessen Antwort ein anderer hat; zusammen mit jemandem, der gefragt ist, kann er ein Gerät übergehen, das schon weg ist. Ein solches Gerät hat keine Quittung, und mit weniger Antworten, als da sein müssen, wird nichts geöffnet.',
    missing: (n: number) =>
      `Es ${n === 1 ? 'fehlt' : 'fehlen'} noch ${several(n, 'Antwort', 'Antworten')}.`,
    all: 'Alle sind möglich',
    rest: 'Die übrigen sind nicht möglich',
    left: (n: number) =>
      n === 0 ? 'Alle Termine haben eine Antwort.' : `Noch ${several(n, 'Termin', 'Termine')}.`,
    go: 'Antworten …',
    confirm: 'Danach lässt sich die Antwort nicht mehr ändern, auf keinem Gerät.',
    yes: 'Diese Antwort geben',
    doing:
      'Deine Antwort wird versiegelt und gesendet. War jemand schneller, wird sie von selbst neu gemacht.',
    pending:
      'Deine Antwort ist unterwegs. Es geht von selbst weiter, auch wenn du später wiederkommst.',
  },
  answered: {
    title: 'Du hast geantwortet',
    text: (missing: string[]) =>
      missing.length === 0
        ? 'Alle haben geantwortet. Die Betreiber öffnen das Ergebnis.'
        : `Es fehlen noch: ${spoken(missing)}. Das Ergebnis wird hier stehen, unter demselben Link.`,
    receipt: 'Deine Quittung',
    receiptHint:
      'Sie sagt, dass deine Antwort in den Einträgen steht und wo, aber nicht, wie sie lautet. Haben zwei Server sie unterschrieben, beweist sie anderen, dass diese Server sie hatten; vorher beweist sie nichts.',
    signed: (n: number) =>
      n === 0
        ? 'Noch hat kein Server sie unterschrieben. Lass diese Seite offen.'
        : n === 1
          ? 'Ein Server hat sie unterschrieben. Lass diese Seite offen, bis es zwei sind.'
          : `Unterschrieben von ${n} Servern.`,
    number: (n: number) => `Eintrag ${n}`,
    digest: 'Fingerabdruck des Eintrags',
    save: 'Quittung speichern',
  },

  progress: (answered: number, all: number) =>
    `${answered} von ${people(all)} ${answered === 1 ? 'hat' : 'haben'} geantwortet.`,
  opening:
    'Es werden keine Antworten mehr angenommen: Alle sind da, oder jeder Server sagt, dass die Frist vorbei ist. Die drei Betreiber prüfen alles und öffnen das Ergebnis. Einer von ihnen könnte sich ansehen, was die anderen geöffnet haben, und sich dann weigern.',
  unresolved:
    'Es gibt kein Ergebnis, obwohl alle drei Betreiber ihre Teile geöffnet haben: Zu wenige konnten für jemanden einspringen, der weggeblieben ist, oder ein Teil ist falsch.',
  unopened: (server: string) =>
    `Der Server „${server}“ öffnet es nicht und sagt, warum. Sag es denen, die die Server betreiben.`,
  lapsed: {
    few: (answered: number, quorum: number) =>
      `Es gibt kein Ergebnis: ${answered} ${answered === 1 ? 'hat' : 'haben'} geantwortet, ${quorum} hätten antworten müssen. Von den Antworten wurde nichts enthüllt.`,
    accepted: (names: string[]) =>
      `Es gibt kein Ergebnis: ${spoken(names)} ${names.length === 1 ? 'hat' : 'haben'} nicht rechtzeitig angenommen, und ohne sie geht es nicht weiter. Von den Antworten wurde nichts enthüllt.`,
    absent: (names: string[]) =>
      `Es gibt kein Ergebnis: ${spoken(names)} ${names.length === 1 ? 'ist' : 'sind'} weggeblieben, und niemand kann einspringen. Von den Antworten wurde nichts enthüllt.`,
  },
  removed:
    'Wer diese Entscheidung angelegt hat, hat dich von der Liste genommen. Sie geht ohne deine Antwort weiter. Wenn das ein Versehen ist, bitte um eine neue Entscheidung.',
  late: 'Du hattest nicht rechtzeitig angenommen, und es ging ohne dich weiter. Wenn es darauf ankommt, bitte um eine neue Entscheidung.',
  cancelled:
    'Die Person, die diese Entscheidung angelegt hat, hat sie abgesagt. Von den Antworten wurde nichts enthüllt.',

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
    chosen: (equals: number, at: string) =>
      equals === 1
        ? `${at} passt am besten`
        : `${equals} Termine passen gleich gut; der früheste ist ${at}`,
    earliest: (dates: number, at: string) =>
      dates === 1 ? `Ein Termin passt: ${at}` : `${dates} Termine passen; der früheste ist ${at}`,
    none: 'Kein Termin passt',
    absent: (names: string[]) =>
      `${spoken(names)} ${names.length === 1 ? 'ist' : 'sind'} weggeblieben. Statt dessen zählte die angenommene Antwort.`,
    late: (names: string[]) =>
      `${spoken(names)} ${names.length === 1 ? 'hatte' : 'hatten'} nicht rechtzeitig angenommen: Es ging ohne ${names.length === 1 ? 'diese Person' : 'sie'} weiter, und an ihrer Stelle zählte nichts.`,
    nobody: 'Niemand ist weggeblieben.',
    verified: (n: number) =>
      n === 0
        ? 'Noch niemand hat es nachgeprüft.'
        : `${people(n)} ${n === 1 ? 'hat' : 'haben'} alles nachgeprüft.`,
    recheck: 'Alles noch einmal prüfen',
    rechecking: 'Alles wird noch einmal geprüft …',
    fine: 'Alles stimmt: jede Unterschrift, jeder Beweis und das Ergebnis.',
    archive: 'Die Einträge speichern',
    archiveHint:
      'Wer die Datei hat, kann das Ergebnis ohne jeden Server prüfen: auf der Seite „Entscheiden“ oder mit ostrakon decide verify DATEI.',
    calendar: 'In den Kalender',
    minutes: 'Länge in Minuten',
  },

  creator: {
    title: 'Du hast diese Entscheidung angelegt',
    text: 'Gib allen ihren eigenen Link. Er ist verbraucht, sobald er einmal benutzt wurde.',
    without: (names: string[], at: number) =>
      `Am ${moment(at)} geht es ohne ${spoken(names)} weiter: Erinnere sie, oder nimm sie von der Liste, damit es früher losgeht.`,
    ends: (names: string[], at: number) =>
      `Am ${moment(at)} endet es ohne Ergebnis, wenn bis dahin noch jemand nicht angenommen hat (${spoken(names)}): Erinnere sie, oder nimm sie von der Liste.`,
    silent: 'Noch ohne Antwort',
    remind:
      'Du kannst sie erinnern. Derselbe Link führt sie zurück, in dem Browser, in dem sie angenommen haben.',
    elsewhere:
      'Die Einladungen sind nicht in diesem Browser: Nur der, in dem die Entscheidung angelegt wurde, kann sie zeigen oder verschicken.',
    link: (name: string) => `Link für ${name}`,
    qr: (name: string) => `QR-Code für ${name}`,
    showQr: 'QR-Code',
    all: 'Alle Links kopieren',
    copied: 'Kopiert',
    remove: 'Von der Liste nehmen …',
    removeText: (name: string) =>
      `${name} von der Liste nehmen? Die anderen entscheiden ohne ${name}.`,
    removeYes: 'Von der Liste nehmen',
    cancel: 'Die Entscheidung absagen …',
    cancelText:
      'Die Entscheidung absagen? Es wird kein Ergebnis geben, und was geantwortet wurde, bleibt für immer geheim.',
    cancelYes: 'Absagen',
    working: 'Wird unterschrieben und gesendet …',
  },
  archive: {
    title: 'Die gespeicherten Einträge einer Entscheidung prüfen',
    text: 'Wer die Datei hat, sieht hier, was herauskam, und dass jede Unterschrift und jeder Beweis darin stimmt. Kein Server wird gefragt, und die Datei verlässt dieses Gerät nicht.',
    choose: 'Datei auswählen …',
    checking: 'Jede Unterschrift und jeder Beweis wird geprüft …',
    holds: (records: number) =>
      `Alles stimmt: ${several(records, 'Eintrag', 'Einträge')}, jede Unterschrift und jeder Beweis.`,
    open: 'Das Ergebnis ist nicht in diesen Einträgen: Sie wurden gespeichert, bevor die drei Betreiber es geöffnet hatten.',
    servers:
      'Dass es diese Server waren, zeigt nur ein Vergleich: Das hier muss der zweite der langen Teile des Links zur Entscheidung sein.',
    digest: 'Fingerabdruck der Server',
    version: (format: string) =>
      `Diese Einträge hat eine andere Version gespeichert (${format}), und diese Seite liest sie nicht. Verändert wurden sie deshalb nicht unbedingt. Öffne sie mit der Version, die sie gespeichert hat, oder speichere sie neu.`,
    refused:
      'Glaub dieser Datei nicht: Das sind nicht die Einträge einer Entscheidung, oder sie wurden nach dem Speichern verändert.',
  },
  mail: {
    none: 'Kein Server hier verschickt E-Mails. Kopiere jeden Link und verschicke ihn selbst.',
    hint: 'Die Links lassen sich per E-Mail verschicken. Der Server, der einen Link verschickt, liest ihn, Mailserver unterwegs können es auch, und wer ihn zuerst benutzt, nimmt den Platz ein: Gib ihn selbst weiter, wenn das nicht sein darf. Der Server benutzt eine Adresse für die eine Nachricht und behält sie nicht; dieser Browser schon.',
    language: 'Sprache der Nachrichten',
    all: (n: number) => `${several(n, 'Link', 'Links')} per E-Mail verschicken`,
    address: (name: string) => `E-Mail-Adresse von ${name}`,
    send: 'Link verschicken',
    again: 'Noch einmal verschicken',
    sending: 'Wird verschickt …',
    sent: (times: number, left: number) =>
      `${times === 1 ? 'Verschickt' : `${times}-mal verschickt`}: Der Mailserver hat die Nachricht angenommen. ${left === 0 ? 'Mehr kann dieser Person von hier nicht geschickt werden.' : `Noch ${left}-mal ist es möglich.`}`,
    failed: {
      address:
        'Nicht verschickt: Der Server hält das für keine E-Mail-Adresse. Verbessere sie und verschicke den Link noch einmal.',
      over: 'Nicht verschickt: Diese Person hat so viele Nachrichten bekommen, wie es geben darf, oder wird nicht mehr gefragt. Verschicke den Link selbst.',
      none: 'Nicht verschickt: Dieser Server verschickt keine E-Mails mehr. Verschicke den Link selbst.',
      busy: 'Nicht verschickt: Gerade wird zu viel verschickt. Versuch es in einer Minute noch einmal.',
      untaken:
        'Nicht verschickt: Der Mailserver nimmt die Nachricht nicht an. Prüfe die Adresse, oder verschicke den Link selbst.',
      away: 'Der Server hat nicht geantwortet, oder dieses Gerät hat kein Netz. Vielleicht wurde die Nachricht trotzdem verschickt; frag nach, bevor du sie noch einmal verschickst.',
      refused:
        'Nicht verschickt: Der Server weigert sich. Nur das Konto, das die Entscheidung angelegt hat, kann ihre Links verschicken lassen; sonst sag es denen, die den Server betreiben.',
    },
    own: 'Selbst schreiben',
    subject: 'Deine Antwort, bitte',
    body: (name: string, link: string, visits: Visits) =>
      visits.accept === null
        ? `Hallo ${name},\n\ndu hast schon angenommen: Es fehlt noch der zweite kurze Besuch, deine Antwort. Bitte gib sie bis ${zoned(visits.answer)}, in dem Browser, in dem du angenommen hast:\n\n${link}\n`
        : `Hallo ${name},\n\nbitte komm zweimal kurz vorbei: Nimm an bis ${zoned(visits.accept)}; antworte dann, sobald alle angenommen haben${visits.all ? '' : ' oder die Zeit dafür vorbei ist'}, bis ${zoned(visits.answer)}. ${visits.all ? 'Hat jemand nicht rechtzeitig angenommen, endet es ohne Ergebnis. ' : ''}Der Link ist nur für dich:\n\n${link}\n`,
  },
  failed: (reason: string) => `Das wurde nicht getan: ${reason}.`,

  account: {
    spoilt:
      'das Konto dieses Browsers ist unlesbar; lies die Datei ein, die du davon gespeichert hast',
    noFile: 'das ist keine Datei mit einem Konto',
  },
};
