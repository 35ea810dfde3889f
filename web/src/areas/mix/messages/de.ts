// Ein Raum, dessen Server ausfallen, gesperrt oder beschlagnahmt werden können.

import type { en } from './en';
import { several, spoken } from '../../../i18n/de/words';

export const de: typeof en = {
  loading: 'Der Server wird nach dem Raum gefragt…',
  away: 'Dieser Server antwortet nicht. Jeder Server des Raumes hat einen eigenen Link: Versuche es mit dem eines anderen.',
  other:
    'Dieser Server zeigt einen anderen Raum, als der Link nennt. Es wurde nichts an ihn gesendet.',

  lead: (servers) =>
    `${servers} Server mischen, was hier gesagt wird. Niemand erfährt, wer was gesagt hat, und keiner von ihnen kann es aufhalten.`,
  trial:
    'Dieser Raum ist zum Ausprobieren. Wer in einer Runde allein ist, steht allein an der Wand: Er verbirgt niemanden.',

  start: {
    title: 'Sag es ohne deinen Namen',
    lead: (servers, may) =>
      `${servers} Server, von verschiedenen Leuten betrieben, mischen, was eine Gruppe schreibt. Niemand erfährt, wer was geschrieben hat, und es kommt heraus, auch wenn ${
        may === 1 ? 'einer von ihnen ausfällt oder lügt' : `${may} von ihnen ausfallen oder lügen`
      }.`,
    open: 'Der Raum dieser Server. Alle können ihn lesen und darin etwas sagen.',
    listed:
      'Der Raum dieser Server. Alle können ihn lesen; um etwas zu sagen, öffne den Link, der deiner ist.',
    go: 'In den Raum',
    servers: 'Seine Server',
    trustTitle: 'Du bist ohne Link hier',
    trust: (server) =>
      `Darum muss diese Seite ihrem Server, ${server}, glauben, welcher Raum es ist und welche Server dazugehören. Ein Link von der Person, die dich eingeladen hat, braucht das nicht: Er enthält den Fingerabdruck des Raumes. Vergleiche diesen mit ihrem.`,
    digest: 'Fingerabdruck des Raumes',
  },

  join: {
    title: 'Mitmachen',
    text: 'Solange diese Seite offen ist, machst du in jeder Runde mit, mit deiner Nachricht oder mit einer leeren. Das verbirgt, wer etwas sagt.',
    button: 'Mitmachen',
    watch: 'Oder nur lesen: Die Wand steht unten.',
    uninvited: 'In diesem Raum machen nur Leute mit einem eigenen Link mit. Lesen kannst du ihn.',
    elsewhere:
      'Du machst in diesem Raum in einem anderen Tab dieses Browsers mit. Schließe ihn dort, um hier weiterzumachen.',
    broken: 'Was dieser Browser vom Raum aufgehoben hat, ist unbrauchbar:',
  },

  say: {
    label: 'Deine Nachricht',
    hint: 'Alle, die den Link haben, lesen sie. Niemand erfährt, dass sie von dir ist.',
    button: 'Sagen',
    left: (bytes) => `noch ${bytes}`,
    over: (bytes) => `${bytes} zu viel`,
    long: 'Kürze die Nachricht.',
  },

  own: {
    waiting: 'Deine Nachricht wartet auf die nächste Runde.',
    stuck: {
      away: 'Deine Nachricht wartet auf diesem Gerät. Eine neue Runde braucht einen Server, der fehlt.',
      convicted:
        'Deine Nachricht wurde nicht gesagt und bleibt auf diesem Gerät. Eine neue Runde bräuchte einen Server, der beim Lügen ertappt wurde: Dieser Raum ist am Ende.',
      spoilt:
        'Deine Nachricht wartet auf diesem Gerät. Neue Runden werden verdorben, ehe sie beginnen, und niemand kann beweisen, von wem.',
    },
    covered:
      'Dieses Gerät hat für diese Runde eine leere Nachricht abgegeben; das verbirgt, wer etwas sagt. Deine kommt mit der nächsten.',
    placed: 'Deine Nachricht wird abgegeben…',
    full: (places) =>
      `Alle ${places} Plätze dieser Runde sind belegt. Deine Nachricht wartet auf einen in der nächsten.`,
    handed:
      'Deine Nachricht ist abgegeben. Sie wartet, bis genug Server zeigen, dass sie sie haben.',
    in: 'Drin. Was die Server jetzt auch tun: Deine Nachricht kommt mit dieser Runde heraus.',
    back: 'Zurücknehmen',
    published: (round) => `Deine Nachricht steht an der Wand, in Runde ${round + 1}.`,
    again: (round) =>
      `Runde ${round + 1} ging ohne deine Nachricht zu Ende. Sie kommt in die nächste.`,
    unknown:
      'Dieses Gerät war zu lange weg: Ob deine letzte Nachricht herauskam, lässt sich nicht mehr sagen. Sieh an der Wand nach, ehe du sie noch einmal sagst.',
  },

  now: {
    title: 'Jetzt',
    here: (places) =>
      places === 1
        ? 'In dieser Runde ist ein Platz belegt.'
        : `In dieser Runde sind ${places} Plätze belegt.`,
    hereHint:
      'Mindestens so viele, wenn die Server recht haben. Eine Person kann mehrere Plätze belegen.',
    hereListed: 'Mindestens so viele, wenn die Server recht haben; einer für jeden Link.',
    collecting: (rows, seconds, minimum) =>
      rows === 0
        ? `Die Runde beginnt, wenn jemand abgegeben hat, und dauert ${several(seconds, 'Sekunde', 'Sekunden')}.`
        : rows < minimum
          ? `${rows} von mindestens ${minimum} haben abgegeben.`
          : `${several(rows, 'Platz hat', 'Plätze haben')} abgegeben. Die Runde endet bald.`,
    mixing: 'Eine Runde wird gemischt.',
    none: 'Gerade ist keine Runde offen.',
  },

  servers: {
    title: 'Server',
    fine: (servers) => `Alle ${servers} Server antworten.`,
    silent: (names, servers, may, prepares) =>
      `${spoken(names)} ${names.length === 1 ? 'antwortet' : 'antworten'} nicht, von ${servers} Servern. ${
        names.length <= may
          ? prepares
            ? 'Alles geht trotzdem: Was im Gang ist, kommt heraus.'
            : 'Was im Gang ist, kommt trotzdem heraus; neue Runden brauchen alle Server.'
          : 'Es fehlen zu viele: Nichts geht weiter, bis welche zurück sind. Verloren ist nichts.'
      }`,
    answers: 'antwortet',
    liar: 'lügt',
    caught: (name, deed) =>
      `${name} wurde beim Lügen ertappt: Dieser Server hat ${deed}. Mit ihm wird nichts mehr vorbereitet. Was gesagt wurde, ist sicher: Kein einzelner Server kann es ungeschehen machen oder sehen, wer es gesagt hat.`,
    deeds: {
      other_seed: 'sich nicht an das gehalten, worauf er sich vor einer Runde festgelegt hatte',
      false_numbers: 'einem anderen falsche Zahlen gegeben, als eine Runde vorbereitet wurde',
      false_result: 'einem anderen ein falsches Ergebnis gesagt, als eine Runde vorbereitet wurde',
      false_complaint: 'die Vorbereitung einer Runde ohne Grund aufgehalten',
    },
    proof:
      'Das kann jeder nachprüfen: „ostrakon mixer evidence“ mit dem Link dieser Seite zeigt den Beweis.',
    away: 'stumm',
  },

  stock: {
    left: (rounds) =>
      rounds === 0
        ? 'Keine weitere Runde ist vorbereitet.'
        : `${several(rounds, 'weitere Runde ist', 'weitere Runden sind')} vorbereitet.`,
    then: {
      no: 'Weitere werden vorbereitet.',
      away: 'Solange Server fehlen, kommen keine hinzu, und offene Seiten verbrauchen sie, auch wenn niemand etwas sagt; ein Server, der betrügt, kann dafür sorgen, dass sie weggeworfen werden. Danach wartet der Raum; verloren ist nichts.',
      convicted:
        'Es kommen keine hinzu: Dazu bräuchte es einen Server, der beim Lügen ertappt wurde. Danach ist dieser Raum am Ende. Seine Betreiber können einen neuen ohne diesen Server gründen.',
      spoilt:
        'Jemand verdirbt immer wieder, was vorbereitet wird, und niemand kann beweisen, wer. Die Betreiber müssen es herausfinden. Bis dahin wartet der Raum; verloren ist nichts.',
    },
  },

  board: {
    title: 'Wand',
    empty: 'Noch ist nichts gesagt.',
    round: (round, people) => `Runde ${round + 1} · ${several(people, 'Platz', 'Plätze')} dabei`,
    few: 'Zu wenige machten mit. Nichts wurde geöffnet.',
    covers: 'Niemand hat etwas gesagt.',
  },

  about: {
    title: 'Wann ein solcher Raum das Richtige ist',
    choose: (servers, may) => {
      const bears = may === 1 ? 'darf einer' : `dürfen ${may}`;
      const learns = may === 1 ? 'dieser eine erfährt' : `diese ${may} zusammen erfahren`;
      return `Wenn ein Server angegriffen, gesperrt oder beschlagnahmt werden könnte. Von ${servers} Servern ${bears} jederzeit ausfallen oder lügen: Jede Nachricht, die „drin“ ist, kommt trotzdem heraus, und ${learns} nicht, von wem sie ist. Mehr zusammen könnten es herausfinden.`;
    },
    stock: (servers, spare) =>
      spare
        ? 'Runden werden im Voraus vorbereitet, auch ohne einen Server, der fehlt.'
        : `Runden werden im Voraus vorbereitet, und dazu braucht es alle ${servers} Server. Solange einer fehlt, werden die zwei oder drei vorbereiteten verbraucht, oft in einer halben Minute, denn jede offene Seite nimmt daran teil; ein Server, der betrügt, kann sie sofort wegwerfen lassen. Dann wartet der Raum, bis der Server zurück ist.`,
    not: 'Die Server sehen, dass dein Gerät mitmacht, und von wo. Was es sagt, sehen sie nicht.',
  },
};
