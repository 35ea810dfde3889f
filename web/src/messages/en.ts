// Every sentence of the page, in English. Another language is another object of the same type.

const several = (n: number, one: string, many: string) => `${n} ${n === 1 ? one : many}`;

const people = (n: number) => several(n, 'takes part', 'take part');

function duration(seconds: number): string {
  if (seconds < 90) return several(seconds, 'second', 'seconds');
  if (seconds < 5400) return several(Math.round(seconds / 60), 'minute', 'minutes');
  return several(Math.round(seconds / 3600), 'hour', 'hours');
}

export const en = {
  language: 'en',
  name: 'Ostrakon',
  skip: 'Skip to the content',

  start: {
    title: 'Say it without your name',
    lead: 'Ostrakon is a wall for a group. Several servers, run by different people, shuffle what the group writes. Then it is on the wall, and nobody, the servers included, can tell who wrote what.',
    word: 'An ostrakon was a potsherd on which an Athenian scratched a name, and cast it among the others.',
    linkLabel: 'Link to a room',
    linkHint: 'You get it from whoever opened the room.',
    open: 'Open the room',
    howTitle: 'How it works',
    how: [
      ['Break', 'On your device, your message is covered with masks from three servers. No server sees more than a shard of it.'],
      ['Shuffle', 'When the epoch is sealed, each server shuffles the shards in an order that it keeps to itself.'],
      ['Join', 'The shards are put together again. The messages appear on the wall, signed, in an order nobody knows.'],
    ],
  },

  room: {
    connecting: 'Comparing the servers’ keys with your link…',
    leave: 'Leave the room',
    aside: 'How the room stands',
    closed: 'This room is closed. Its wall remains.',
    elsewhere: 'This room is open in another tab of this browser, and that one takes part. Here you can read along.',
  },

  refusal: {
    wrongServersTitle: 'These are not the servers that your link names',
    wrongServers:
      'The link carries a fingerprint of the servers’ keys. A server here shows other keys, or another room than the link names. Nothing was sent. Ask whoever gave you the link for the right one, by another way than before.',
    insecureTitle: 'This connection is not protected',
    insecure: 'The page came over plain HTTP, so anybody on the way could have changed it. Open the room over HTTPS.',
    failedTitle: 'The room cannot be opened',
    failed: (reason: string) => `What happened: ${reason}.`,
    spoilt: 'what this browser kept for the room cannot be read; clear this site’s data to begin anew',
    retry: 'Try again',
    home: 'Back to the start',
  },

  compose: {
    label: 'Your message',
    hint: (seconds: number) => `It enters the next epoch that is sealed; an epoch collects for ${duration(seconds)}.`,
    left: (bytes: number) => `${several(bytes, 'byte', 'bytes')} left`,
    over: (bytes: number) => `${several(bytes, 'byte', 'bytes')} too long`,
    send: 'Send without a name',
    key: 'Ctrl + Enter sends',
  },

  own: {
    title: 'Your message',
    waiting: 'Kept on this device. It enters the next epoch.',
    inside: (epoch: number) => `In epoch ${epoch}. It stays on this device until it is on the wall.`,
    published: 'Your message is on the wall. Nothing on this device remembers which one it was.',
    again: (epoch: number | null) =>
      epoch === null
        ? 'The epoch was published without your message. It enters the next one.'
        : `Epoch ${epoch} ended without a result, and nothing of it was revealed. Your message enters the next one.`,
  },

  epoch: {
    title: 'Epoch',
    number: (epoch: number) => `Epoch ${epoch}`,
    seals: (seconds: number) => `sealed in ${duration(seconds)}`,
    sealing: 'being sealed',
    company: 'Waiting until enough take part, at more than one server',
    open: 'collecting',
    stock: 'waiting for the servers to prepare masks',
    unknown: 'no server answers yet',
    mixing: (epochs: number[]) => `Being shuffled: ${epochs.length === 1 ? 'epoch' : 'epochs'} ${epochs.join(', ')}`,
    present: (n: number) => `${people(n)} now`,
    presentHint: 'The more take part, the less a message says about its writer.',
    few: (minimum: number) =>
      `An epoch is published only if the submissions, less those of any one server’s participants, number at least ${minimum}. Until then messages wait.`,
    part: {
      looking: 'Looking for a server to take part at',
      waiting: 'You take part: waiting for a place',
      placed: 'You take part: you have a place in this epoch',
      'handed-in': 'You take part: your shard is handed in',
      elsewhere: 'Another tab takes part',
    },
    cover: 'With nothing to say, this page hands in an empty shard, so that taking part tells nothing.',
  },

  servers: {
    title: 'Servers',
    reachable: 'answers',
    away: 'does not answer',
    unasked: 'not heard yet',
    present: (n: number) => several(n, 'participant', 'participants'),
    home: 'yours',
    pinned: 'Their keys are the ones in your link.',
  },

  wall: {
    title: 'The wall',
    empty: 'Nothing has been published yet.',
    newest: 'newest',
    among: (n: number) => `shuffled among ${n}`,
    verified: (signed: number, of: number) => `verified: signed by ${signed} of ${of} servers`,
    silent: (from: number, to: number) => (from === to ? `Epoch ${from}: nobody spoke` : `Epochs ${from} to ${to}: nobody spoke`),
    older: 'Show older epochs',
    announce: (n: number) => `${several(n, 'new message', 'new messages')} on the wall`,
  },

  alarm: {
    title: 'A server showed something forged',
    text: (server: string, reason: string) => `${server}: ${reason}. It was not put on the wall. Tell the others in your group.`,
  },

  protection: {
    title: 'What is protected, and what is not',
    yesTitle: 'Protected',
    yes: [
      'Who wrote a message. One of the three servers may be malicious, and still learns only that it was one of those who took part in the epoch.',
      'That you wrote at all: silence and speech look alike while this page is open.',
      'What is on the wall: every entry is signed and chained, and checked on your device.',
    ],
    noTitle: 'Not protected',
    no: [
      'You are hidden in the crowd of one epoch. If few take part, few can have written it; the number stands beside every entry.',
      'Two of the three servers together can undo the shuffle. Choose a room whose servers are run by people who would not collude.',
      'That you take part, and when, is visible to the servers and to your network. If messages of one kind appear only when you are there, that tells something.',
      'What you write may identify you: names, places, habits of language.',
      'This page came from one of the servers. A server that serves a changed page can break every promise to those who load it.',
    ],
    robust:
      'If a server is caught cheating, this room does not stop: another server finishes the epoch alone and learns who wrote what in it.',
  },
};

export type Messages = typeof en;
