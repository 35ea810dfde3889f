// Die Seite für Betreiber.

import type { Operator } from '../en/operator';
import { duration, several } from './words';

export const de: Operator = {
  title: 'Dein Server',

  token: {
    lead: 'Für die Betreiberin oder den Betreiber dieses Servers. Gezeigt werden Stände und Zahlen; niemand, der teilnimmt, ist von anderen zu unterscheiden.',
    label: 'Verwaltungstoken',
    hint: 'Es steht in der Datei, die in der Konfiguration admin_token_file heißt. Es bleibt in diesem Tab und geht nur an diesen Server.',
    member:
      'Es steht in der Datei operator.token im Verzeichnis des Mitglieds. Es bleibt in diesem Tab und geht nur an diesen Server.',
    mixer:
      'Es steht in der Datei operator.token im Verzeichnis des Servers. Es bleibt in diesem Tab und geht nur an diesen Server.',
    open: 'Meinen Server zeigen',
    forget: 'Token vergessen',
    wrong: 'Das ist nicht das Token dieses Servers.',
    many: 'Von deiner Adresse kamen zu viele falsche Token. Warte einen Augenblick.',
  },

  mixing: {
    stands: {
      founding: 'Die Server bilden ihren gemeinsamen Schlüssel. Dazu müssen einmal alle da sein.',
      asking:
        'Der Server fragt die anderen, wie sie stehen, und macht mit, sobald genug antworten.',
      'data-lost':
        'Die Daten hier sind älter als das, was andere von diesem Server gehört haben; darum schweigt er. Starte ihn einmal mit --restored.',
      runs: 'Der Server macht mit.',
    },
    servers: 'Server',
    own: 'dieser Server',
    states: { fine: 'verbunden', away: 'keine Verbindung' },
    behind: (steps) =>
      steps === null
        ? 'ist gerade gekommen'
        : `holt auf, ${several(steps, 'Schritt', 'Schritte')} zurück`,
    behindHint:
      'So sieht dieser Server die anderen. Wie weit einer ist, sagt er selbst; Schritte sind die der gemeinsamen Ordnung.',
    lacking:
      'Er hat seinen Teil der letzten verdorbenen Vorbereitung nicht gezeigt. Das beweist nichts: Frage zuerst, wer ihn betreibt.',
    rounds: 'Runden',
    end: (may, spare) =>
      spare
        ? `Weitere werden vorbereitet, auch wenn ${may === 1 ? 'ein Server fehlt' : `${may} Server fehlen`} oder beim Lügen ertappt ${may === 1 ? 'wird' : 'werden'}; mit mehr ist es zu Ende.`
        : 'Weitere werden vorbereitet, solange alle Server da sind: Fehlt einer, kommen keine, bis er zurück ist; wird einer beim Lügen ertappt, kommen nie mehr welche.',
    remedy: (servers) =>
      `Was hilft: Wer den Server betreibt, der fehlt, startet ihn mit seinen Daten, oder einmal mit --restored, wenn sie verloren sind. Wo einer lange fehlen kann, gründet den nächsten Raum mit ${servers + 1} Servern.`,
    prepared: 'Vorbereitet',
    open: 'Jetzt offen',
    none: 'keine',
    collecting: (round, places, rows) =>
      `Runde ${round}: ${several(places, 'Platz', 'Plätze')} belegt, ${rows} abgegeben`,
    mixed: 'Wird gemischt',
    entries: 'An der Wand',
    spoilt: 'Nacheinander verdorben',
    machine: 'Speicher und Platte',
    memory: 'Speicher des Prozesses',
    kept: 'davon für andere',
    journal: 'Journal',
    commits: 'Schritte der Ordnung',
    room: (name) => `In den Raum „${name}“`,
  },

  computations: {
    title: 'Berechnungen',
    hint: 'Tripel werden für jede Berechnung nach ihrem Schluss vorbereitet, es gibt also keinen Vorrat. Runden sind die, die während der Berechnung aufgeschrieben sind.',
    none: 'Es wird nichts gefragt.',
    member: (name, number, members) => `${name}, Nummer ${number} von ${members} im Komitee`,
    missing: (names) => `Keine Verbindung mit: ${names.join(', ')}.`,
    asked: 'Gefragt',
    job: 'Aufgabe',
    phase: 'Zustand',
    inputs: 'Abgegeben',
    minimum: 'Mindestens',
    begun: 'Begonnen',
    rounds: 'Runden',
    phases: {
      collecting: 'offen',
      sealing: 'geschlossen; die Mitglieder einigen sich auf die Liste',
      computing: 'wird berechnet',
      done: 'fertig',
      'too-few': 'zu wenige',
      stopped: 'abgebrochen',
    },
  },

  refreshed: (time) => `Stand: ${time}`,
  failed: (reason) => `Das wurde nicht getan: ${reason}.`,
  stale: (reason) => `Keine Nachricht vom Server: ${reason}`,
  never: 'unbekannt',
  refresh: 'Neu laden',

  state: {
    title: 'Zustand',
    ready: 'Der Server tut seine Arbeit.',
    waiting: 'Der Server kann gerade nicht arbeiten.',
    version: 'Ausgabe',
    protocol: (version) => `Serverprotokoll ${version}`,
    since: 'Läuft seit',
    duration,
    certificate: 'Zertifikat',
    proxy: 'hat ein Proxy, oder nicht bekannt',
    expires: (date) => `läuft am ${date} ab`,
    disk: 'Festplatte',
    free: (free, total) => `${free} frei von ${total}`,
    stock: (used, most) => `der Vorrat belegt ${used} von höchstens ${most}`,
    queues: 'Warteschlangen',
    queue: (tenths) => (tenths === 0 ? 'leer' : `bis zu ${tenths * 10} % voll`),
    intake: 'zur Festplatte',
    announcements: 'zu den anderen Servern',
  },

  warnings: {
    title: 'Braucht Aufmerksamkeit',
    none: 'Nichts braucht deine Aufmerksamkeit.',
    unreachable: (name) => `${name} ist nicht zu erreichen`,
    'other-version': (name) => `${name} läuft mit einer anderen Ausgabe`,
    'clock-off': (name) => `Die Uhren von ${name} und diesem Server gehen auseinander`,
    'disk-low': () => 'Die Festplatte ist fast voll',
    'certificate-expiring': (name) => `Das Zertifikat läuft bald ab oder ist abgelaufen: ${name}`,
    'stock-empty': () => 'Ein offener Raum wartet auf Masken',
    'epoch-overdue': (name) => `Ein Raum steht still; nachzusehen ist zuerst bei: ${name}`,
    'repeated-aborts': (name) => `Immer wieder brechen Epochen ab, vielleicht wegen ${name}`,
    own: 'dieser Server',
  },

  peers: {
    title: 'Andere Server',
    name: 'Server',
    reach: 'Verbindung',
    direct: 'unmittelbar',
    relayed: 'über den dritten',
    none: 'keine',
    silent: (seconds) => `seit ${duration(seconds)} still`,
    clock: 'Uhr',
    even: 'gleich',
    ahead: (seconds) => `${seconds} s vor`,
    behind: (seconds) => `${seconds} s nach`,
    bound: (seconds) => `Eine Uhr darf ${seconds} Sekunden abweichen, ehe du gewarnt wirst.`,
    key: 'Schlüssel',
  },

  stock: {
    title: 'Vorrat',
    lead: 'Masken werden stapelweise im Voraus bereitet; jede Epoche verbraucht einen Stapel.',
    plot: (most) => `Stapel, die im letzten Tag bereitlagen; höchstens ${most}`,
    numbers: 'Dasselbe in Zahlen',
    time: 'Ab',
    fewest: 'Mindestens bereit',
    shape: 'Tabellen',
    rows: (rows, width, engine) =>
      `${rows} Zeilen zu ${several(width, 'Byte', 'Bytes')} (${engine})`,
    usable: 'Bereit',
    preparing: 'In Arbeit',
    needed: 'Ein offener Raum braucht sie',
    yes: 'ja',
    no: 'nein',
    early: 'Die Kurve beginnt, sobald es zwei Proben im Abstand von zehn Sekunden gibt.',
  },

  epochs: {
    title: 'Epochen',
    lead: 'Die letzten seit dem Start des Servers, die neueste zuerst. Zeiten sind auf Zehntelsekunden gerundet und nur je Epoche bekannt.',
    none: 'Seit dem Start des Servers ist keine Epoche zu Ende gegangen.',
    room: 'Raum',
    number: 'Epoche',
    outcome: 'Ausgang',
    published: 'veröffentlicht',
    'too-few': 'zu wenige nahmen teil',
    cheated: 'ein Server betrog',
    failed: 'aufgegeben',
    'may-have-opened': 'aufgegeben, vielleicht gelesen',
    size: 'Eingereicht',
    of: (accepted, slots) => `${accepted} von ${slots}`,
    time: 'Sekunden',
    phases: { collect: 'sammeln', mix: 'mischen', sign: 'einigen' },
    more: 'Mehr zeigen',
  },

  reading: 'Wird gelesen …',
  unread: (why: string) => `Noch nicht gelesen, und wird wieder versucht: ${why}`,
  faults: {
    title: 'Verstöße',
    lead: 'Was Server unterschrieben, die sich falsch verhielten. Jeder kann eine Datei prüfen: ostrakon fault verify DATEI --servers PRÜFSUMME',
    none: 'Noch nie wurde ein Server bei einem Verstoß ertappt.',
    seen: 'Gesehen',
    who: 'Server',
    what: 'Was er tat',
    finding: 'Befund',
    proved: 'bewiesen: kein ehrlicher Server unterschreibt das',
    signed: 'unterschrieben; dass es eine Regel bricht, folgt aus früheren Ansagen',
    unproven: 'nicht bewiesen',
    download: 'Beweis herunterladen',
  },

  rooms: {
    title: 'Räume',
    none: 'Es gibt keine Räume.',
    name: 'Raum',
    state: 'Zustand',
    open: 'offen',
    closed: 'geschlossen',
    present: 'Jetzt hier',
    entries: 'Einträge',
    settings: 'Einstellungen',
    describe: (capacity, seconds, minimum) =>
      `${several(capacity, 'Platz', 'Plätze')}, Epochen von ${duration(seconds)}, mindestens ${minimum}`,
    close: 'Schließen',
    sure: 'Wirklich schließen?',
    keep: 'Offen lassen',
    hint: 'Ein geschlossener Raum nimmt nichts mehr an, endgültig. Seine Wand bleibt.',
    delete: 'Von diesem Server löschen …',
    deletePrompt: (name) =>
      `„${name}“ endgültig von diesem Server löschen? Das lässt sich nicht rückgängig machen.`,
    deleteText: [
      'Der Raum wird auf allen drei Servern geschlossen. Auf diesem führen seine Links von da an ins Leere, und alle Nachrichten werden sofort von der Festplatte gelöscht.',
      'Sein Name, die Handlungen seiner Leitung und die Fingerabdrücke seiner Wand bleiben, denn darin müssen die Server übereinstimmen.',
      'Die beiden anderen Betreiber entscheiden für ihre Server: Nur wenn auch sie ihn löschen, ist er überall weg. Sollte dieser Server seine Daten verlieren und von den anderen neu bekommen, lösche den Raum noch einmal.',
    ],
    deleteNow: 'Von diesem Server löschen',
    deleted: (name) => `„${name}“ ist von diesem Server gelöscht.`,
  },

  audit: {
    title: 'Protokoll der Eingriffe',
    lead: 'Was Betreiber und Gastgeber an diesem Server taten, das Neueste zuerst. Was Teilnehmende tun, wird nie aufgeschrieben.',
    none: 'Nichts ist verzeichnet.',
    when: 'Wann',
    who: 'Wer',
    what: 'Was',
    detail: 'Näheres',
    older: 'Ältere Einträge zeigen',
  },

  log: {
    title: 'Ausführlichkeit der Meldungen',
    label: 'Was gemeldet wird, bis der Server neu startet',
    hint: 'Eine Stufe, oder Stufen je Teil: info,ostrakon_net=debug. Die Meldungen enthalten nie Adressen oder Zeiten von Einreichungen.',
    set: 'Ändern',
    done: (filter) => `Der Server meldet jetzt ${filter}.`,
  },
};
