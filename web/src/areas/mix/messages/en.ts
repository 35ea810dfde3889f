// A room whose servers may fail, be blocked or seized.

import { several, spoken } from '../../../i18n/en/words';

export const en = {
  loading: 'Asking the server for the room…',
  away: 'This server does not answer. Every server of the room has a link of its own: try another one’s.',
  other: 'This server shows another room than the link names. Nothing was sent to it.',

  lead: (servers: number) =>
    `${servers} servers mix what is said here. Nobody learns who said what, and no one of them can stop it.`,
  trial:
    'This room is a trial. If you are alone in a round, your message is alone on the board: it hides nobody.',

  start: {
    title: 'Say it without your name',
    lead: (servers: number, may: number) =>
      `${servers} servers, run by different people, mix what a group writes. Nobody learns who wrote what, and it comes out although ${
        may === 1 ? 'one of them fails or lies' : `${may} of them fail or lie`
      }.`,
    open: 'The room of these servers. Everybody may read it and say something in it.',
    listed:
      'The room of these servers. Everybody may read it; to say something, open the link that is yours.',
    go: 'Go to the room',
    servers: 'Its servers',
    trustTitle: 'You came without a link',
    trust: (server: string) =>
      `So this page has to believe its server, ${server}, which room it is and which servers are in it. A link from whoever invited you needs no such belief: it carries the room’s fingerprint. Compare this one with theirs.`,
    digest: 'The room’s fingerprint',
  },

  join: {
    title: 'Take part',
    text: 'As long as this page is open, you take part in every round, with your message or with an empty one. That hides who says something.',
    button: 'Take part',
    watch: 'Or just read: the board is below.',
    uninvited:
      'Only people with a link of their own may take part in this room. You can read its board.',
    elsewhere:
      'You take part in this room in another tab of this browser. Close it there to go on here.',
    broken: 'What this browser kept of the room cannot be used:',
  },

  say: {
    label: 'Your message',
    hint: 'Everybody with the link reads it. Nobody learns that it is yours.',
    button: 'Say it',
    left: (bytes: number) => `${bytes} left`,
    over: (bytes: number) => `${bytes} too many`,
    long: 'Shorten the message.',
  },

  own: {
    waiting: 'Your message waits for the next round.',
    stuck: {
      away: 'Your message waits on this device. A new round needs a server that is away.',
      convicted:
        'Your message was not said, and stays on this device. A new round would need a server that was caught lying: this room is at its end.',
      spoilt:
        'Your message waits on this device. New rounds are spoilt before they begin, and nobody can prove by whom.',
    },
    covered:
      'This device has handed in an empty message for this round, which hides who says something. Yours goes with the next one.',
    placed: 'Your message is being handed in…',
    full: (places: number) =>
      `All ${places} places of this round are taken. Your message waits for one in the next round.`,
    handed: 'Your message is handed in. It waits until enough servers show that they have it.',
    in: 'In. Whatever the servers do now, your message comes out with this round.',
    back: 'Take it back',
    published: (round: number) => `Your message is on the board, in round ${round + 1}.`,
    again: (round: number) =>
      `Round ${round + 1} ended without your message. It goes into the next one.`,
    unknown:
      'This device was away for too long: whether your last message came out cannot be known. Look at the board before you say it again.',
  },

  now: {
    title: 'Now',
    here: (places: number) =>
      places === 0
        ? 'No place is taken in this round yet.'
        : `${several(places, 'place is', 'places are')} taken in this round.`,
    hereHint: 'At least so many, if the servers are right. One person can take several places.',
    hereListed: 'At least so many, if the servers are right; one for each link.',
    collecting: (rows: number, seconds: number, minimum: number) =>
      rows === 0
        ? `The round begins when the first one has handed in, and takes ${several(seconds, 'second', 'seconds')}.`
        : rows < minimum
          ? `${rows} of at least ${minimum} have handed in.`
          : `${rows === 1 ? 'One has' : `${rows} have`} handed in. The round ends soon.`,
    mixing: 'A round is being mixed.',
    none: 'No round is open now.',
  },

  servers: {
    title: 'Servers',
    fine: (servers: number) => `All ${servers} servers answer.`,
    silent: (names: string[], servers: number, may: number, prepares: boolean) =>
      `${spoken(names)} ${names.length === 1 ? 'does' : 'do'} not answer, of ${servers} servers. ${
        names.length <= may
          ? prepares
            ? 'Everything still works: what is under way comes out.'
            : 'What is under way comes out all the same; new rounds need all servers.'
          : 'Too many are away: nothing goes on until some are back. Nothing is lost.'
      }`,
    answers: 'answers',
    liar: 'caught lying',
    caught: (name: string, deed: string) =>
      `${name} was caught lying: it ${deed}. Nothing is prepared with it any more. What was said is safe: no one server can undo it or see who said it.`,
    deeds: {
      other_seed: 'did not keep to what it had bound itself to before a round',
      false_numbers: 'gave another server false numbers when a round was prepared',
      false_result: 'told another server a false result when a round was prepared',
      false_complaint: 'stopped the preparation of a round without a cause',
    },
    proof:
      'Anybody can check that: “ostrakon mixer evidence” with this page’s link shows the proof.',
    away: 'silent',
  },

  stock: {
    left: (rounds: number) =>
      rounds === 0
        ? 'No further round is prepared.'
        : `${several(rounds, 'further round is', 'further rounds are')} prepared.`,
    then: {
      no: 'More are being prepared.',
      away: 'No more can be prepared while servers are away, and open pages use them up, also when nobody says anything; a server that cheats can have them thrown away. After that the room waits; nothing is lost.',
      convicted:
        'No more can be prepared: that would need a server that was caught lying. After that this room is at its end. Its operators can found a new one without that server.',
      spoilt:
        'Somebody spoils again and again what is prepared, and nobody can prove who. The operators have to find out. Until then the room waits; nothing is lost.',
    },
  },

  board: {
    title: 'Board',
    empty: 'Nothing has been said yet.',
    round: (round: number, people: number) =>
      `Round ${round + 1} · ${several(people, 'place', 'places')} in`,
    few: 'Too few took part. Nothing was opened.',
    covers: 'Nobody said anything.',
  },

  about: {
    title: 'When to choose a room like this',
    choose: (servers: number, may: number) =>
      `When a server may be attacked, blocked or seized. Of ${servers} servers ${
        may === 1 ? 'one' : may
      } may fail or lie at any moment: every message that is “in” still comes out, and ${
        may === 1 ? 'that one learns' : `those ${may} together learn`
      } nothing about who said it. More than that together could find out.`,
    stock: (servers: number, spare: boolean) =>
      spare
        ? 'Rounds are prepared in advance. They go on being prepared without a server that is away.'
        : `Rounds are prepared in advance, and that needs all ${servers} servers. While one is away, the two or three that are prepared are used up, often within half a minute, as every open page takes part in them; one that cheats can have them thrown away at once. Then the room waits until it is back.`,
    not: 'Servers see that your device takes part, and from where. They do not see what it says.',
  },
};
