// Opening a room.

import { duration, several } from './words';

const people = (n: number) => several(n, 'person', 'people');

export const en = {
  title: 'Open a room',
  lead: 'You become its host. Your key is made on this device, and no server ever sees it.',
  loading: 'Asking the server what it allows…',

  kindTitle: 'What is it for?',
  kinds: {
    lecture: ['Questions in a lecture', 'Anybody with the link asks. You answer, pin and group.'],
    team: ['Feedback in a team', 'Longer messages, more time, one link for each member.'],
    vote: ['A vote', 'One link for each person, so that nobody votes twice.'],
  },

  name: 'Name of the room',
  nameHint: 'Everybody sees it.',
  purpose: 'What it is about',
  purposeHint: 'A sentence or two, shown to whoever joins. It can be left empty.',
  people: 'How many people do you expect?',
  peopleHint: (enough: number, expected: number, places: number) =>
    `Messages appear from ${people(enough)} on${expected < enough ? ': three are the fewest who can hide anybody' : ''}. Until then they wait, and everybody sees how many are missing. There is room for ${places}. You can lower the number while the room runs; everybody is told.`,
  code: 'Creation code',
  codeHint:
    'You get it from those who run the servers. It is sent when the room is opened, and is not kept.',
  adminHint:
    'Here only those who run the servers open rooms: this is their token. It is sent when the room is opened, and is not kept.',

  who: {
    title: 'Who may take part?',
    open: [
      'Whoever has the link',
      'Easiest. But one person with ten devices counts ten times: in polls, and in the number that others hide among.',
    ],
    invited: [
      'Whoever has an invitation link',
      'You make one link for each person. One link is one vote and one place in an epoch.',
    ],
    listed: [
      'Members on a list',
      'People send you the key that their device shows. Strongest: nobody else, not even you, ever has their keys.',
    ],
  },

  settings: {
    title: 'Settings',
    change: 'Change the settings',
    summary: (bytes: number, seconds: number, enough: number, days: number | null) =>
      `Messages of up to ${bytes} bytes. Every ${duration(seconds)} they are shuffled and published, from ${people(enough)} on. ${days === null ? 'What was said stays.' : `What was said is erased after ${duration(days * 86_400)}.`}`,
    size: 'Longest message, in bytes',
    sizeHint: (bytes: number) =>
      `A plain letter is one byte, a letter with an accent two, an emoji four. The room takes ${bytes}. Longer messages cost the servers more.`,
    seconds: 'Length of an epoch, in seconds',
    secondsHint: (seconds: number) =>
      `${duration(seconds)}. Messages of one epoch appear together, in an order nobody knows. Longer epochs hide better, shorter ones feel livelier.`,
    capacity: 'Places in an epoch',
    capacityHint:
      'At most so many people take part at the same time; others have to wait. Take more than you expect.',
    minimum: 'Least number to hide among',
    minimumHint: (enough: number) =>
      `Published from ${people(enough)} on. Participants of any one server are not counted, since that server may have invented them; so the number of people is larger than this one.`,
    noCrowd:
      'One is no crowd: of two people each knows what the other has said, and one server can leave somebody alone with people that it has invented. Take two or more, unless it is for practice.',
    range: (least: number, most: number) =>
      `${least.toLocaleString('en')} to ${most.toLocaleString('en')}`,
    engine: {
      title: 'How the servers shuffle (for experts)',
      ruffle: [
        'Ruffle',
        'The servers prepare in advance, so an epoch ends quickly. The usual choice.',
      ],
      clarion: [
        'Clarion',
        'The servers prepare next to nothing: good for large epochs that come seldom. It protects as much; if a server cheats, the epoch always stops.',
      ],
    },
    mode: {
      title: 'If a server is caught cheating',
      fair: [
        'Stop (fair)',
        'The epoch ends without a result and nothing of it is revealed. The messages go into the next one. A cheating server can hold the room up, but never look in.',
      ],
      robust: [
        'Go on (robust)',
        'A server that has proved honest finishes the epoch alone. The room cannot be held up, but that server learns who wrote what in this one epoch.',
      ],
    },
    retention: 'What was said is erased after',
    keeps: 'never',
    days: (n: number) => several(n, 'day', 'days'),
    retentionHint:
      'The servers erase the texts. Fingerprints stay, so that the record can still be checked.',
    moderated: 'The projector shows approved messages only',
    moderatedHint:
      'From the beginning: what you have not approved is not projected. The room’s own page shows it all the same. You can change it at any time, on the host’s page.',
  },

  limits: {
    title: 'What no setting prevents',
    sybils: {
      title: 'Made-up participants',
      open: 'In an open room, one person or one server can invent participants. The number shown beside each message then promises more than it holds. The least number to hide among does not count any one server’s participants; against people with many devices, take invitation links or a list.',
      members:
        'Here each key counts once and you decide which ones. Whoever hands out the links decides who is real; nobody else can add participants.',
    },
    intersectionTitle: 'Comparing epochs',
    intersection:
      'Whoever sees who takes part when, and which messages appear when, can narrow down who wrote them over time. Against it, open pages hand in empty messages all the time, so that speaking and silence look alike. It helps if people stay until the end, and if epochs are long.',
    linksTitle: 'Links in the wrong hands',
    links:
      'Whoever uses an invitation link first takes its place. The link’s owner is told so, and you can dismiss it and make another. Nobody can read by a link what its owner writes: the device that uses it makes a key of its own.',
  },

  submit: 'Open the room',
  opening: 'Opening the room…',
  wrong: {
    noName: 'The room has no name yet: give it one, above.',
    longName: 'The name is too long: 200 bytes at most, and a letter with an accent takes two.',
    longPurpose:
      'What it is about is too long: 1,000 bytes at most, and a letter with an accent takes two.',
  },
  failed: (reason: string) => `The room was not opened: ${reason}.`,
  altered: 'the server opened another room than the one that was asked for; do not use it',
  unreachable: 'this server does not show it yet',
  waiting: {
    title: (name: string) => `“${name}” is opened, but not to be seen yet`,
    text: (reason: string) =>
      `This is why: ${reason}. Try again in a minute: that looks for the same room, and opens no other.`,
    kept: 'This browser keeps your key: the room is among those that you host, on the start page.',
    looking: 'Looking for the room…',
    wrongServersTitle: (name: string) => `The servers contradict each other about “${name}”`,
    wrongServers:
      'The room was opened, but a server shows other keys than this one has named, or another room. Do not use the room, and give nobody a link to it. Tell the people who run the servers.',
  },

  done: {
    title: (name: string) => `“${name}” is open`,
    hostTitle: 'Keep the host link',
    host: 'Whoever has this link is host: it carries your key. Nobody can give you a new one. Save it before you go on.',
    unkept:
      'This browser’s storage is full, so it does not keep your key: without the link you are host no more.',
    moderated: 'The projector shows approved messages only.',
    unmoderated: (reason: string, again: boolean) =>
      `The room is open, but its projector shows all messages, not only approved ones: that could not be set, because ${reason}. ${again ? 'The host’s page tries again by itself. Look there, under “Room”, before you show the projector.' : 'Set it on the host’s page, under “Room”, before you show the projector.'}`,
    membersFirst: 'Nobody is admitted yet. Make the invitations on the host’s page.',
    open: 'Go to the host’s page',
    trust: (origin: string) =>
      `The links name the keys of the servers as ${origin} showed them to this device. Before something that matters, compare the last part of the room’s link with what the people say who run the servers.`,
  },

  mine: {
    title: 'Rooms that you host from this browser',
    forget: (name: string) => `Forget “${name}” here`,
    warning: (name: string) =>
      `Forget in this browser that you host “${name}”? Your key goes, and with the last one the questions that you have prepared. Only the host link opens the host’s page again. Have you kept it?`,
    warningYes: 'Forget',
    forgotten: 'Forgotten in this browser. The host link still opens it.',
  },
};

export type Create = typeof en;
