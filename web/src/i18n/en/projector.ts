// The projector view.

import { duration, several, spoken } from './words';

export const en = {
  connecting: 'Comparing the servers’ keys with the link…',
  join: 'Join in',
  at: (origin: string) => `Scan, or type the code at ${origin}`,
  qr: 'QR code with the link to the room',
  members: 'For members with an invitation. Others read along.',
  present: (n: number) => several(n, 'person', 'people'),
  presentHint: (n: number) =>
    `${n === 1 ? 'takes' : 'take'} part, as the servers say; what counts stands beside each message`,
  epoch: (n: number) => `Epoch ${n}`,
  seals: (seconds: number) => `sealed in ${duration(seconds)}`,
  sealing: 'being sealed',
  company: 'waiting for what people hand in',
  overdue: (names: string[]) =>
    names.length === 0
      ? 'waiting for earlier epochs; nothing is lost'
      : `waiting for the word of ${spoken(names)}; nothing is lost`,
  waits: (here: number, expected: number | null, missing: number) =>
    `${here}${expected === null ? '' : ` of about ${expected}`} ${here === 1 ? 'is' : 'are'} here; ${missing} more, then messages appear`,
  practice: 'For practice, without a crowd: what a single person says is seen to be theirs.',
  stock: 'servers prepare masks',
  unknown: 'no server answers',
  closed: 'This room is closed.',
  pinned: 'pinned',
  answered: 'answered',
  newest: 'newest',
  among: (n: number) => `among ${n}`,
  empty: 'Nothing has been published yet.',
  emptyHint: 'What you write appears here, with what the others wrote, in an order nobody knows.',
  hidden: (n: number) => `${several(n, 'message', 'messages')} hidden by the host`,
  poll: 'Poll',
  answerNow: 'Answer on your device',
  wordsConcealed: 'The host reads the answers in words first.',
  announce: (n: number) => several(n, 'new message', 'new messages'),

  controls: {
    label: 'Projector',
    full: 'Full screen',
    window: 'Leave full screen',
    show: 'Show',
    automatic: 'Poll and wall',
    wall: 'Wall only',
    poll: 'Poll only',
    larger: 'Larger letters',
    smaller: 'Smaller letters',
  },
};

export type Projector = typeof en;
