import type { Start } from '../en/start';

export const de: Start = {
  title: 'Sag es ohne deinen Namen',
  lead: 'Ostrakon ist eine Wand für eine Gruppe. Mehrere Server, von verschiedenen Leuten betrieben, mischen, was die Gruppe schreibt. Dann steht es an der Wand, und niemand, auch kein Server, kann sagen, wer was geschrieben hat.',
  word: 'Ein Ostrakon war eine Tonscherbe, in die ein Athener einen Namen ritzte, um sie zu den anderen zu werfen.',
  linkLabel: 'Link zu einem Raum',
  linkHint: 'Du bekommst ihn von der Person, die den Raum eröffnet hat.',
  open: 'Raum öffnen',
  howTitle: 'So geht es',
  how: [
    ['Zerbrechen', 'Auf deinem Gerät wird deine Nachricht mit Masken von drei Servern verdeckt. Kein Server sieht mehr als eine Scherbe davon.'],
    ['Mischen', 'Ist die Epoche versiegelt, mischt jeder Server die Scherben in einer Reihenfolge, die er für sich behält.'],
    ['Fügen', 'Die Scherben werden wieder zusammengefügt. Die Nachrichten erscheinen unterschrieben an der Wand, in einer Reihenfolge, die niemand kennt.'],
  ],
};
