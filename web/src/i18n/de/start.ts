import type { Start } from '../en/start';
import { day } from './words';

export const de: Start = {
  title: 'Sag es ohne deinen Namen',
  lead: 'Ostrakon ist eine Wand für eine Gruppe. Mehrere Server, von verschiedenen Leuten betrieben, mischen, was die Gruppe schreibt. Dann steht es an der Wand, und niemand, auch kein Server, kann sagen, wer was geschrieben hat.',
  word: 'Ein Ostrakon war eine Tonscherbe, in die ein Athener einen Namen ritzte, um sie zu den anderen zu werfen.',
  linkLabel: 'Link oder Code eines Raums',
  linkHint:
    'Du bekommst ihn von der Person, die den Raum eröffnet hat. Ein Link nennt die Schlüssel der Server selbst; ein Code wie 7F3K-Q2MA überlässt das dem Server dieser Seite. Ein Leitungslink öffnet die Leitungsseite.',
  open: 'Zum Raum',
  neither: 'Das ist weder ein Link zu einem Raum noch ein Code aus acht Buchstaben und Ziffern.',
  unloaded:
    'Der Teil dieser Seite, der Links liest, ließ sich nicht laden. Versuch es gleich noch einmal.',
  create: 'Selbst einen Raum eröffnen',
  decide: 'Gemeinsam etwas entscheiden',

  rooms: {
    title: 'Deine Räume auf diesem Gerät',
    hint: 'Diese Liste kennt nur dieser Browser. Räume, in denen du nur mitliest, stehen nicht darauf.',
    host: 'du leitest ihn',
    last: (at: number) => `zuletzt besucht ${day(at)}`,
    forget: (name: string) => `„${name}“ auf diesem Gerät vergessen`,
    forgetHost: (name: string) => `Vergessen, dass du „${name}“ leitest`,
    prompt: (name: string) =>
      `„${name}“ auf diesem Gerät vergessen? Dein Schlüssel dort und was vom Raum aufbewahrt ist, werden gelöscht. Eine noch nicht veröffentlichte Nachricht geht verloren, und in einen Raum für Mitglieder musst du neu eingelassen werden.`,
    promptHost: (name: string) =>
      `Auf diesem Gerät vergessen, dass du „${name}“ leitest? Dein Schlüssel geht verloren, und mit dem letzten die Fragen, die du vorbereitet hast. Nur der Leitungslink öffnet die Leitungsseite wieder. Hast du ihn aufbewahrt?`,
    forgetNow: 'Vergessen',
    forgotten: (name: string) => `„${name}“ ist auf diesem Gerät vergessen.`,
    busy: (name: string) =>
      `„${name}“ ist in einem anderen Tab dieses Browsers offen. Schließe diesen zuerst.`,
  },

  code: {
    title: (code: string) => `Raum ${code}`,
    looking: 'Der Raum wird gesucht …',
    unknown: (code: string) =>
      `Dieser Server kennt keinen Raum ${code}. Prüfe die Zeichen und ob dies der Server ist, dessen Adresse neben dem Code steht.`,
    trust: (server: string) =>
      `Bei einem Code muss diese Seite ihrem Server, ${server}, glauben, welcher Raum gemeint ist und welche Schlüssel die anderen haben. Ein Link oder ein Bildcode braucht diesen Glauben nicht: Er enthält einen Fingerabdruck aller Schlüssel. Löge dieser Server, könnten alle drei Server seine eigenen sein.`,
    servers: 'Er nennt diese Server',
    digest:
      'Fingerabdruck ihrer Schlüssel, zum Vergleich mit dem der Person, die den Raum eröffnet hat',
    go: 'Weiter zum Raum',
  },
  howTitle: 'So geht es',
  how: [
    [
      'Zerbrechen',
      'Auf deinem Gerät wird deine Nachricht mit Masken von drei Servern verdeckt. Kein Server sieht mehr als eine Scherbe davon.',
    ],
    [
      'Mischen',
      'Ist die Epoche versiegelt, mischt jeder Server die Scherben in einer Reihenfolge, die er für sich behält.',
    ],
    [
      'Fügen',
      'Die Scherben werden wieder zusammengefügt. Die Nachrichten erscheinen unterschrieben an der Wand, in einer Reihenfolge, die niemand kennt.',
    ],
  ],
};
