// One join link for all: who asks, and whom the creator takes in.

import { clock, moment, several, spoken } from '../../../i18n/en/words';

const people = (n: number) => several(n, 'person', 'people');

export const en = {
  title: 'Take part in a decision',
  connecting: 'Comparing the servers’ keys with your link…',
  incomplete: 'the link is incomplete; copy the whole link',
  unknownTitle: 'No such join link',
  unknown:
    'The servers know no such link, or deleted it a week after its time. Check that the whole link was copied.',
  failedTitle: 'The link cannot be opened',
  failed: (reason: string) => `That was not done: ${reason}.`,

  guest: {
    text: 'Whoever made this link will let a group decide this. Ask to take part: your device makes a key, and the creator sees your name and whether it is you.',
    over: 'The time for requests is over. Ask whoever made the link for another one.',
    name: 'Your name',
    nameHint: 'Everybody who decides will see it. Take the one by which they know you.',
    ask: 'Ask to take part',
    asking: 'Asking…',
    as: (name: string) => `You asked as “${name}”. Digits of this device:`,
    digits:
      'The creator sees the same digits beside your name. Compare them, for example on the phone: then nobody else can take your place.',
    title: {
      asked: 'The creator has your request',
      admitted: 'You take part',
      begun: 'It has begun',
      refused: 'You were not taken in',
      without: 'It has begun without you',
    },
    state: {
      asked: 'You will be taken in, or not. You may close this page and open the link again here.',
      admitted:
        'As soon as the creator begins, this page leads on. You may close it and open the link again here.',
      begun: 'This page leads on to the decision.',
      refused: 'The creator has refused the request. If that was a mistake, tell the creator.',
      without: 'The creator has begun before taking you in. Nobody can join any more.',
    },
  },

  host: {
    text: 'Share this one link. Whoever opens it asks by name; only those whom you approve take part. Who they are is fixed when you begin, and your signature covers the list: no server can add anybody.',
    link: 'Link for all',
    linkHint: (until: number) =>
      `Whoever has it can ask, until ${moment(until)}. Do not post it where strangers read it.`,
    qr: 'The same link, to be photographed',
    people: (names: string[]) =>
      names.length === 0 ? 'Nobody will decide yet.' : `Will decide: ${spoken(names)}.`,
    begin: (n: number) => `Begin with ${people(n)}`,
    few: 'At least two people decide: approve of somebody first.',
    beginHint: 'From then on nobody can join, and nobody is added. Who still waits is left out.',
    begun: 'The decision has begun: nobody can join any more.',
    open: 'To the decision',
    elsewhere:
      'What you filled in is in the browser in which you made the link. Begin there; here you can approve requests.',
  },

  requests: {
    waiting: 'Requests',
    count: (n: number) =>
      n === 0
        ? 'Nobody waits. New requests appear here by themselves.'
        : `${people(n)} ${n === 1 ? 'waits' : 'wait'} for you.`,
    compare:
      'A name proves nothing: anybody with the link can write it. Compare the digits with the person, above all where two give the same name.',
    time: (at: number) => `at ${clock(at)}, by their clock`,
    admit: 'Approve',
    refuse: 'Refuse',
    admitOne: (name: string, digits: string) => `Approve ${name}, ${digits}`,
    refuseOne: (name: string, digits: string) => `Refuse ${name}, ${digits}`,
    admitAll: (n: number) => `Approve all ${n}`,
    refuseAll: (n: number) => `Refuse all ${n}`,
    admitted: 'Approved',
    back: 'Take back',
    backOne: (name: string) => `Take back the approval of ${name}`,
  },
};

export type Join = typeof en;
