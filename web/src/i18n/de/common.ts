import type { Common } from '../en/common';

export const de: Common = {
  name: 'Ostrakon',
  skip: 'Zum Inhalt springen',
  language: 'Sprache',
  leave: 'Raum verlassen',
  decide: 'Entscheiden',
  loading: 'Wird geladen …',

  absent: 'Dieser Server hat nichts unter der geöffneten Adresse. Was er hat, steht unten.',

  key: {
    copy: 'Kopieren',
    copied: 'Kopiert',
  },

  page: {
    kept: 'Dieser Server antwortet nicht. Die Seite ist die auf diesem Gerät aufbewahrte.',
    newer: 'Es gibt eine neuere Fassung dieser Seite.',
    update: 'Laden',
  },

  refusal: {
    pageTitle: 'Dieser Teil der Seite ließ sich nicht laden',
    page: 'Der Server antwortet nicht, oder er hat eine neuere Seite als die hier geöffnete.',
    brokenTitle: 'Diese Seite funktioniert hier nicht',
    broken: (reason: string) =>
      `Was geschehen ist: ${reason}. Lade die Seite neu; hilft das nicht, sag es denen, die diesen Server betreiben.`,
    storage:
      'Dieser Browser verbietet dieser Website, etwas aufzubewahren; so gibt es keinen Ort für deinen Schlüssel. Erlaube für diese Adresse Cookies und Websitedaten und lade die Seite dann neu.',
    retry: 'Noch einmal versuchen',
    home: 'Zurück zum Anfang',
    full: 'der Speicher dieses Browsers ist voll, dieses Gerät kann also nichts aufbewahren; lösche die Daten von Websites, die du nicht brauchst',
    hostKey:
      'Dieser Browser bewahrt deinen Schlüssel für diesen Raum nicht auf. Öffne deinen Leitungslink; er endet mit dem Schlüssel.',
    hostKeyTitle: 'Der Schlüssel der Leitung fehlt',
    noPolls: 'das ist keine Datei mit vorbereiteten Fragen',
    badPoll: (n: number) =>
      `Frage ${n} in der Datei lässt sich nicht stellen: Sie ist zu lang, oder ihre Antworten sind nicht 2 bis 20 verschiedene`,
    spoilt:
      'was dieser Browser für den Raum aufbewahrt hat, ist unlesbar; lösche die Daten dieser Website, um neu zu beginnen',
    occupied:
      'dieses Gerät hat noch etwas unter einem eigenen Schlüssel zu sagen: Warte, bis es veröffentlicht ist, oder vergiss den Raum hier zuerst',
    otherKey: 'das ist keine Datei mit einem Schlüssel für diesen Raum',
    sameKey: 'dieser Browser nimmt schon an dem Raum teil',
    wrongServersTitle: 'Das sind nicht die Server, die dein Link nennt',
    wrongServers: (server) =>
      `Der Link enthält einen Fingerabdruck der Schlüssel aller Server. ${server} zeigt andere Schlüssel oder einen anderen Raum, als der Link nennt. Es wurde nichts gesendet. Bitte die Person, von der du den Link hast, auf einem anderen Weg als bisher um den richtigen.`,
    contradicts: (server) =>
      `Der Server „${server}“ sagt, dass er zu anderen Servern gehört, als dein Link nennt. Das wird nicht geglaubt: Es gilt, was der Link sagt. Sag es denen, die die Server betreiben.`,
    unusable: 'der Raum des Links ist keiner, den Server führen können',
    insecureTitle: 'Diese Verbindung ist nicht geschützt',
    insecure:
      'Die Seite kam über einfaches HTTP; unterwegs hätte sie jeder verändern können. Öffne den Raum über HTTPS.',
    away: 'der Server hat nicht geantwortet, oder dieses Gerät hat kein Netz',
    awayFrom: (server) => `${server} hat nicht geantwortet, oder dieses Gerät hat kein Netz`,
    failedTitle: 'Der Raum lässt sich nicht öffnen',
    failed: (reason: string) => `Was geschehen ist: ${reason}.`,
  },
};
