// The wall, wherever it is shown.

import { several } from './words';

export const en = {
  title: 'The wall',
  empty: 'Nothing has been published yet.',
  newest: 'newest',
  epoch: (epoch: number) => `Epoch ${epoch}`,
  among: (n: number) => `shuffled among ${n}`,
  verified: (signed: number, of: number) => `verified: signed by ${signed} of ${of} servers`,
  silent: (from: number, to: number) =>
    from === to ? `Epoch ${from}: nobody spoke` : `Epochs ${from} to ${to}: nobody spoke`,
  older: 'Show older epochs',
  announce: (n: number) => `${several(n, 'new message', 'new messages')} on the wall`,

  pinnedTitle: 'Pinned by the host',
  pinned: 'pinned',
  answered: 'answered',
  hidden: (n: number) => `${several(n, 'message', 'messages')} hidden by the host`,
  erased: (n: number) =>
    `${several(n, 'message', 'messages')} erased; the digest stays in the chain`,
  ballots: (n: number) => several(n, 'answer to a poll', 'answers to a poll'),
  votes: (n: number) => several(n, 'vote', 'votes'),
  votesHint:
    'Votes are those of the newest round that a message was in. Rounds are not added up: who took part in two would count twice.',
  order: 'Order',
  byEpoch: 'Newest first',
  byVotes: 'Most votes first',
  group: (name: string) => `Group: ${name}`,
  all: 'All groups',
  groups: 'Show',

  alarm: {
    title: 'A server showed something forged',
    text: (server: string) =>
      `What ${server} showed does not hold when it is checked. It was not put on the wall, and this page asks that server no more. Tell the others in your group.`,
  },
};

export type Wall = typeof en;
