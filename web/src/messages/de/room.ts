import type { Room } from '../en/room';
import { duration, several } from './words';

export const de: Room = {
  connecting: 'Die Schlüssel der Server werden mit deinem Link verglichen …',
  aside: 'Wie es um den Raum steht',
  closed: 'Dieser Raum ist geschlossen. Seine Wand bleibt.',
  elsewhere: 'Dieser Raum ist in einem anderen Tab dieses Browsers offen, und jener nimmt teil. Hier kannst du mitlesen.',

  compose: {
    label: 'Deine Nachricht',
    hint: (seconds: number) => `Sie kommt in die nächste Epoche, die versiegelt wird; eine Epoche sammelt ${duration(seconds)} lang.`,
    left: (bytes: number) => `noch ${several(bytes, 'Byte', 'Bytes')}`,
    over: (bytes: number) => `${several(bytes, 'Byte', 'Bytes')} zu lang`,
    send: 'Ohne Namen senden',
    key: 'Strg + Enter sendet',
  },

  own: {
    title: 'Deine Nachricht',
    waiting: 'Auf diesem Gerät aufbewahrt. Sie kommt in die nächste Epoche.',
    inside: (epoch: number) => `In Epoche ${epoch}. Sie bleibt auf diesem Gerät, bis sie an der Wand steht.`,
    published: 'Deine Nachricht steht an der Wand. Nichts auf diesem Gerät weiß noch, welche es war.',
    again: (epoch: number | null) =>
      epoch === null
        ? 'Die Epoche wurde ohne deine Nachricht veröffentlicht. Sie kommt in die nächste.'
        : `Epoche ${epoch} endete ohne Ergebnis, und nichts daraus wurde enthüllt. Deine Nachricht kommt in die nächste.`,
  },

  epoch: {
    title: 'Epoche',
    number: (epoch: number) => `Epoche ${epoch}`,
    seals: (seconds: number) => `versiegelt in ${duration(seconds)}`,
    sealing: 'wird versiegelt',
    company: 'Es wird gewartet, bis genug teilnehmen, und das an mehr als einem Server',
    open: 'sammelt',
    stock: 'wartet, bis die Server Masken vorbereitet haben',
    unknown: 'noch antwortet kein Server',
    mixing: (epochs: number[]) => `Wird gemischt: ${epochs.length === 1 ? 'Epoche' : 'Epochen'} ${epochs.join(', ')}`,
    present: (n: number) => `${several(n, 'Person nimmt', 'Personen nehmen')} jetzt teil`,
    presentHint: 'Je mehr teilnehmen, desto weniger sagt eine Nachricht darüber, wer sie schrieb.',
    few: (minimum: number) =>
      `Eine Epoche wird nur veröffentlicht, wenn die Einwürfe, ohne die der Teilnehmer irgendeines einzelnen Servers, mindestens ${minimum} sind. Bis dahin warten Nachrichten.`,
    part: {
      looking: 'Ein Server zum Teilnehmen wird gesucht',
      waiting: 'Du nimmst teil und wartest auf einen Platz',
      placed: 'Du nimmst teil und hast einen Platz in dieser Epoche',
      'handed-in': 'Du nimmst teil, deine Scherbe ist abgegeben',
      elsewhere: 'Ein anderer Tab nimmt teil',
    },
    cover: 'Wer nichts zu sagen hat, gibt mit dieser Seite eine leere Scherbe ab; so verrät das Teilnehmen nichts.',
  },

  servers: {
    title: 'Server',
    reachable: 'antwortet',
    away: 'antwortet nicht',
    unasked: 'noch nichts gehört',
    present: (n: number) => several(n, 'Person', 'Personen'),
    home: 'deiner',
    pinned: 'Ihre Schlüssel sind die aus deinem Link.',
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
