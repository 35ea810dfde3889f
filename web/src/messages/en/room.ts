// The participant's page.

import { duration, several } from './words';

const people = (n: number) => several(n, 'takes part', 'take part');

export const en = {
  connecting: 'Comparing the servers’ keys with your link…',
  aside: 'How the room stands',
  closed: 'This room is closed. Its wall remains.',
  elsewhere: 'This room is open in another tab of this browser, and that one takes part. Here you can read along.',

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

export type Room = typeof en;
