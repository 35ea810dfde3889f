// Polls, wherever they are shown.

import { duration, several } from './words';

export const en = {
  result: 'Result',
  option: 'Answer',
  votes: 'Votes',
  share: 'Share',
  points: 'Points',
  pointsHint: 'A point for every option that somebody put behind it.',
  right: 'right',
  gone: 'a message that is not shown here',
  more: (n: number) => `${n} more`,
  answers: (n: number) => several(n, 'answer', 'answers'),
  nobody: 'Nobody answered.',
  percent: (share: number) => `${Math.round(share * 100)} %`,
  times: (n: number) => `${n} times`,
  average: (mean: number, highest: number) =>
    `on average ${mean.toLocaleString('en', { maximumFractionDigits: 1 })} of ${highest}`,
  severalChosen: 'Several answers could be chosen.',
  erased: (n: number) =>
    n === 1
      ? '1 message of this epoch is erased; it may be an answer.'
      : `${n} messages of this epoch are erased; answers may be among them.`,
  invalid: (n: number) => `${several(n, 'ballot was', 'ballots were')} invalid.`,
  kind: {
    one: 'One answer',
    several: 'Several answers',
    rating: (highest: number) => `1 to ${highest}`,
    text: 'A few words',
    messages: (n: number) => `A vote on ${n} messages`,
    ranking: 'An order',
  },
  state: {
    soon: (seconds: number) => `Answers are sealed in ${duration(seconds)}`,
    sealing: 'The answers are being sealed',
    company: 'Waiting until enough take part, at more than one server',
    counting: 'Sealed. The servers shuffle the answers',
    counted: 'Counted',
    lost: 'The epoch ended without a result. Nothing of it was revealed.',
    withdrawn: 'Withdrawn',
    open: 'Answers are collected',
    unread: 'The wall is being read',
  },
  epoch: (epoch: number) => `sealed in epoch ${epoch}`,
};

export type Poll = typeof en;
