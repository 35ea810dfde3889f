// Nachrichten zwischen zwei Menschen.

import type { Chat } from '../en/chat';
import { duration, several } from './words';

export const de: Chat = {
  connecting: 'Die Schlüssel der Server werden mit deinem Link verglichen…',
  elsewhereTitle: 'Deine Nachrichten sind in einem anderen Tab offen',
  elsewhere:
    'Immer nur ein Tab dieses Browsers nimmt teil, damit nichts zweimal gesendet wird. Um jemanden hinzuzufügen, füge den Link dort ein. Sobald jener Tab geschlossen ist, geht es hier weiter.',

  sees: {
    title: 'Wer sieht was',
    text: [
      'Die Server sehen, dass diese Seite offen ist, und wann; in jeder Runde sendet sie eine Zeile, die zufällig aussieht, und liest alle Zeilen, ob du schreibst oder nicht.',
      'Wem du schreibst, liest, was du schreibst, und sieht, wann du da bist.',
      'Sonst erfährt niemand etwas: nicht, mit wem du schreibst, und nicht, ob du überhaupt jemandem schreibst.',
    ],
    stay: 'Wer nur zum Reden kommt, zeigt, wann geredet wird: Lass diese Seite offen, so lange du kannst. In einem Tab, der lange verdeckt ist, bremsen Browser sie, und sie versäumt Runden; verloren geht dadurch nichts.',
    kept: 'Kontakte und Nachrichten bleiben nur auf diesem Gerät, verschlüsselt. Wer diesen Browser benutzen kann wie du, kann sie lesen. Was du hier löschst, kommt nicht wieder.',
  },

  welcome: {
    title: 'Einander schreiben, und niemand erfährt, mit wem',
    lead: (room: string) =>
      `„${room}“ ist ein Raum für Nachrichten zwischen zwei Menschen. Die Server, die sie weitergeben, erfahren nicht, wer wem schreibt.`,
    added:
      'Du bist dem Kontakt-Link von jemandem gefolgt, dem du hier schreiben kannst. Hast du in diesem Raum schon Kontakte, auf der Seite eines anderen seiner Server, dann füge den Link dort ein.',
    name: 'Dein Name für die, die du anrufst',
    nameHint: 'Nur wen du anrufst, sieht ihn. Er kann beliebig sein.',
    partner: 'Wie du den Menschen nennst, dessen Link das ist',
    begin: 'Anfangen',
  },

  presence: {
    looking: 'Ein Server wird gesucht…',
    here: 'Du nimmst an jeder Runde teil, ob du schreibst oder nicht.',
    waiting: 'Warten auf die nächste Runde…',
    round: (seconds: number) =>
      `Eine Runde dauert ${duration(seconds)}. Was du schreibst, geht in einer der nächsten fünf hinaus und ist fünf Runden später bestätigt.`,
    closed:
      'Dieser Raum ist geschlossen. Gesendet wird nichts mehr; was gesagt wurde, bleibt auf diesem Gerät.',
    full: 'Der Speicher dieses Browsers ist voll. Nichts wird gesendet, bevor dieses Gerät aufschreiben kann, was es tut. Lösche Daten von Seiten, die du nicht brauchst; hier geht es dann von selbst weiter.',
    eased: (enough: number) =>
      `Die Zahl der Leute, die eine Runde braucht, wurde auf ${enough} gesenkt. Gesendet wird nichts, bis du zustimmst.`,
    agree: 'Zustimmen',
    alarm: (server: string, reason: string) => `${server} hat etwas Gefälschtes gezeigt: ${reason}`,
  },

  people: {
    title: 'Kontakte',
    none: 'Noch niemand. Füge jemanden über einen Kontakt-Link hinzu, oder gib jemandem deinen.',
    unread: (n: number) => several(n, 'neue Nachricht', 'neue Nachrichten'),
    title2: (n: number, name: string) => `(${n}) ${name}`,
    back: 'Alle Kontakte',
    choose: 'Wähle einen Kontakt, um zu lesen und zu schreiben.',
  },

  state: {
    idle: 'kein Gespräch',
    calling: 'du rufst an',
    called: 'ruft dich an',
    answering: 'du hast angenommen',
    talking: 'im Gespräch',
    ending: 'das Gespräch endet',
  },

  call: {
    known: (name: string) => `${name} ruft dich an.`,
    stranger: (name: string) =>
      `Jemand ruft dich an und nennt sich „${name}“. Nichts beweist den Namen.`,
    by: (label: string) => `Über deinen Link „${label}“.`,
    accept: 'Annehmen',
    decline: 'Nicht annehmen',
    declineHint: 'Davon erfährt niemand: Es sieht aus, als wärst du nicht da.',
    call: 'Anrufen',
    calling: 'Dein Anruf geht in jeder fünften Runde hinaus, bis er angenommen wird.',
    unanswered:
      'Bisher keine Antwort. Vielleicht ist niemand da, vielleicht will man nicht annehmen, vielleicht wurde dieser Link zurückgenommen: Ein zurückgenommener Link erreicht niemanden, und niemand kann dir sagen, was davon es ist. Bitte auf anderem Weg um einen anderen Link.',
    takeBack: 'Anruf zurücknehmen',
    notCallable: 'Du hast keinen Link dieses Kontakts, darum kann nur er anrufen.',
    again: 'Das Gespräch ist vorbei. Was du schreibst, beginnt ein neues.',
  },

  talk: {
    title: (name: string) => `Gespräch mit ${name}`,
    none: 'Noch wurde nichts gesagt.',
    label: 'Deine Nachricht',
    send: 'Senden',
    key: 'Strg + Eingabe sendet',
    left: (n: number) => `noch ${several(n, 'Byte', 'Byte')}`,
    over: (n: number) => `${several(n, 'Byte', 'Byte')} zu lang`,
    you: 'Du',
    end: 'Gespräch beenden',
    endPrompt: (name: string) =>
      `Das Gespräch mit ${name} beenden? Die andere Seite erfährt es. Ihr könnt einander wieder anrufen.`,
    remove: 'Diesen Kontakt vergessen',
    removePrompt: (name: string) =>
      `${name} vergessen und alles, was gesagt wurde? Die andere Seite erfährt es nicht; für sie bist du nicht da.`,
    removeNow: 'Vergessen',
    received: (name: string) => `Neue Nachricht von ${name}`,
    copied: (name: string) =>
      `Das Gespräch mit ${name} wurde hier beendet. Eine andere Kopie deiner Kontakte nimmt anderswo daran teil, oder ${name} hat an deiner Stelle geschrieben. Benutze nur eine Kopie und rufe ${name} dann neu an.`,
  },

  message: {
    waiting: 'wartet',
    sent: 'gesendet',
    delivered: 'angekommen',
    'sent-again': 'noch einmal gesendet',
    'round-stopped': 'ihre Runde wurde abgebrochen; sie wird noch einmal gesendet',
    unknown: 'unbekannt, ob sie ankam',
  },
  meaning: {
    title: 'Was aus einer Nachricht wird',
    waiting:
      'Sie ist auf diesem Gerät: Das Gespräch hat nicht begonnen, oder sie ist nicht an der Reihe.',
    sent: 'Alles davon wurde einmal hinausgegeben.',
    delivered: 'Sie ist auf dem anderen Gerät; nicht, dass sie gelesen wurde.',
    'sent-again':
      'Es kam nicht rechtzeitig etwas zurück. Vielleicht ist das andere Gerät nicht da; es geht von selbst weiter.',
    'round-stopped': 'Jene Runde hat nichts hervorgebracht. Die nächste nimmt sie mit.',
    unknown: 'Das Gespräch endete, bevor sie bestätigt war.',
  },

  code: {
    title: 'Bist das wirklich du?',
    text: 'Lest euch diese Ziffern einmal vor, am Telefon oder von Angesicht zu Angesicht. Sind sie gleich, steht niemand zwischen euch.',
    label: 'Ziffern zum Vergleichen',
    none: 'Sobald das Gespräch steht, gibt es etwas zu vergleichen.',
  },

  add: {
    title: 'Jemanden hinzufügen',
    link: 'Der Kontakt-Link',
    name: 'Wie du diesen Menschen nennst',
    add: 'Hinzufügen',
    practice:
      'Das ist kein Mensch, sondern ein Partner zum Üben: ein Programm, das jeden Anruf annimmt und dir deine eigenen Worte zurückgibt.',
    practiceName: 'Übungspartner',
    hint: 'Ein Kontakt-Link enthält #/chat/ und endet mit einem langen Schlüssel.',
    done: (name: string) => `${name} ist hinzugefügt. Schreib etwas: Das ruft an.`,
  },

  links: {
    title: 'Deine Kontakt-Links',
    lead: 'Wer einen deiner Links hat, kann dich anrufen, und sonst nichts. Gib jedem Menschen einen anderen, dann kannst du jeden für sich zurücknehmen.',
    label: 'Für wen?',
    make: 'Link machen',
    none: 'Du hast noch keinen Link. Ohne einen kann dich niemand anrufen.',
    shown: (label: string) => `Kontakt-Link für ${label}`,
    qr: (label: string) => `Bildcode des Kontakt-Links für ${label}`,
    unnamed: 'jemanden',
    hint: 'Gib ihn nur diesem einen Menschen, am besten auf einem Weg, den andere nicht mitlesen.',
    revoke: 'Zurücknehmen',
    revokeOf: (label: string) => `Den Link für ${label} zurücknehmen`,
    revokePrompt: (label: string) =>
      `Den Link für ${label} zurücknehmen? Über ihn kann dich dann niemand mehr anrufen. Gespräche, zu denen er geführt hat, gehen weiter.`,
    revoked: (label: string) => `Der Link für ${label} ist zurückgenommen.`,
  },

  forget: {
    ask: 'Alles auf diesem Gerät vergessen',
    hint: 'Kontakte, Links und Nachrichten dieses Raums werden hier gelöscht. Niemand erfährt davon.',
    prompt:
      'Alle Kontakte, Links und Nachrichten dieses Raums auf diesem Gerät vergessen? Sie kommen nicht wieder.',
    now: 'Alles vergessen',
  },

  refused: {
    other: 'das ging nicht',
    'no-link':
      'Das ist kein Kontakt-Link. Kopiere ihn ganz, von http bis zum letzten Buchstaben des Schlüssels.',
    'other-room':
      'Dieser Link führt in einen anderen Raum für Nachrichten. Öffne ihn in der Adresszeile dieses Browsers.',
    'own-link': 'Das ist ein Link von dir selbst. Gib ihn anderen.',
    'too-narrow': 'Die Zeilen dieses Raums sind zu kurz für Nachrichten.',
    'too-many-links': 'Mehr Links behält dieses Gerät nicht. Nimm erst einen zurück.',
    'too-many-contacts': 'Mehr Kontakte behält dieses Gerät nicht. Vergiss erst einen.',
    'no-such-link': 'Diesen Link gibt es nicht mehr.',
    'no-such-contact': 'Diesen Kontakt gibt es nicht mehr.',
    'not-callable': 'Du hast keinen Link dieses Kontakts, darum kann nur er anrufen.',
    engaged: 'Es gibt schon ein Gespräch oder einen Anruf.',
    'not-called': 'Der Anruf ist vorbei.',
    'no-channel': 'Du führst vier Gespräche, mehr gehen nicht zugleich. Beende erst eines.',
    'nothing-to-end': 'Es gibt kein Gespräch und keinen Anruf.',
    'too-long': 'Das ist zu lang. Sende es in Stücken.',
    empty: 'Es gibt noch nichts zu senden.',
    'too-much': 'Es wartet schon so viel, wie warten kann. Warte, bis etwas davon angekommen ist.',
    'bad-name': 'Ein Name hat 1 bis 64 Byte.',
    'calls-dropped':
      'Es kamen mehr Anrufe, als behalten werden. Ist einer deiner Links zu weit herumgekommen, nimm ihn zurück.',
  },
};
