import { clock, moment, several, spoken } from '../../../i18n/de/words';
import type { Join } from './en';

const people = (n: number) => several(n, 'Person', 'Personen');

export const de: Join = {
  title: 'Bei einer Entscheidung mitmachen',
  connecting: 'Die Schlüssel der Server werden mit deinem Link verglichen …',
  incomplete: 'der Link ist unvollständig; kopiere den ganzen Link',
  unknownTitle: 'Diesen Link gibt es nicht',
  unknown:
    'Die Server kennen keinen solchen Link oder haben ihn eine Woche nach seiner Zeit gelöscht. Sieh nach, ob du den ganzen Link kopiert hast.',
  failedTitle: 'Der Link lässt sich nicht öffnen',
  failed: (reason) => `Das wurde nicht getan: ${reason}.`,

  guest: {
    text: 'Wer diesen Link gemacht hat, lässt eine Gruppe darüber entscheiden. Bitte darum, mitzumachen: Dein Gerät macht einen Schlüssel, und wer den Link gemacht hat, sieht deinen Namen und ob du es bist.',
    over: 'Die Zeit für Anfragen ist vorbei. Bitte um einen neuen Link.',
    name: 'Dein Name',
    nameHint: 'Alle, die entscheiden, sehen ihn. Nimm den, unter dem sie dich kennen.',
    ask: 'Um Teilnahme bitten',
    asking: 'Wird angefragt …',
    as: (name) => `Du hast als „${name}“ angefragt. Ziffern dieses Geräts:`,
    digits:
      'Wer den Link gemacht hat, sieht neben deinem Namen dieselben Ziffern. Vergleicht sie, etwa am Telefon: Dann kann niemand deinen Platz einnehmen.',
    title: {
      asked: 'Deine Anfrage ist angekommen',
      admitted: 'Du machst mit',
      begun: 'Es hat begonnen',
      refused: 'Du wurdest nicht aufgenommen',
      without: 'Es hat ohne dich begonnen',
    },
    state: {
      asked:
        'Du wirst aufgenommen oder nicht. Du kannst die Seite schließen und den Link hier wieder öffnen.',
      admitted:
        'Sobald es beginnt, führt diese Seite weiter. Du kannst sie schließen und den Link hier wieder öffnen.',
      begun: 'Diese Seite führt weiter zur Entscheidung.',
      refused:
        'Die Anfrage wurde abgelehnt. War das ein Versehen, sag es der Person, die den Link gemacht hat.',
      without: 'Es hat begonnen, bevor du aufgenommen wurdest. Niemand kann mehr dazukommen.',
    },
  },

  host: {
    text: 'Teile diesen einen Link. Wer ihn öffnet, fragt mit einem Namen an; nur wen du aufnimmst, macht mit. Wer das ist, steht fest, wenn du beginnst, und deine Unterschrift deckt die Liste: Kein Server kann jemanden hinzufügen.',
    link: 'Link für alle',
    linkHint: (until) =>
      `Wer ihn hat, kann anfragen, bis ${moment(until)}. Veröffentliche ihn nicht, wo Fremde ihn lesen.`,
    qr: 'Derselbe Link zum Abfotografieren',
    people: (names) =>
      names.length === 0 ? 'Noch wird niemand entscheiden.' : `Es entscheiden: ${spoken(names)}.`,
    begin: (n) => `Mit ${people(n)} beginnen`,
    few: 'Mindestens zwei entscheiden: Nimm erst jemanden auf.',
    beginHint:
      'Von da an kann niemand dazukommen, und niemand wird hinzugefügt. Wer noch wartet, bleibt außen vor.',
    begun: 'Die Entscheidung hat begonnen: Niemand kann mehr dazukommen.',
    open: 'Zur Entscheidung',
    elsewhere:
      'Was du ausgefüllt hast, ist in dem Browser, in dem du den Link gemacht hast. Beginne dort; hier kannst du Anfragen annehmen.',
  },

  requests: {
    waiting: 'Anfragen',
    count: (n) =>
      n === 0
        ? 'Niemand wartet. Neue Anfragen erscheinen hier von selbst.'
        : `${people(n)} ${n === 1 ? 'wartet' : 'warten'} auf dich.`,
    compare:
      'Ein Name beweist nichts: Wer den Link hat, kann jeden schreiben. Vergleiche die Ziffern mit der Person, vor allem, wenn zwei denselben Namen nennen.',
    time: (at) => `um ${clock(at)} nach ihrer Uhr`,
    admit: 'Aufnehmen',
    refuse: 'Ablehnen',
    admitOne: (name, digits) => `${name}, ${digits}, aufnehmen`,
    refuseOne: (name, digits) => `${name}, ${digits}, ablehnen`,
    admitAll: (n) => `Alle ${n} aufnehmen`,
    refuseAll: (n) => `Alle ${n} ablehnen`,
    admitted: 'Aufgenommen',
    back: 'Zurücknehmen',
    backOne: (name) => `Die Aufnahme von ${name} zurücknehmen`,
  },
};
