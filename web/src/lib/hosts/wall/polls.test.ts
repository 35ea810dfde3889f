import { expect, test } from 'vitest';

import type { Ballot, Poll, PollForm, Tally } from '../hostlog';
import {
  answeredAgain,
  answerOf,
  barsOf,
  chosenOf,
  epochOf,
  nearestTime,
  isRight,
  meanOf,
  phaseOf,
  ranked,
  repeated,
  sealsAt,
  timesOf,
  votesOf,
  wordsOf,
} from './polls';
import type { Report } from '../../rooms/seen/following';

const poll: Poll = {
  number: 4,
  question: 'When?',
  form: 'text',
  epoch: 9,
  withdrawn: false,
  right: null,
};
const tally: Tally = { answers: 4, votes: [3, 1, 0], texts: [], invalid: 0, erased: 0 };
const choice = { choice: { options: ['now', 'later', 'never'], several: false } };

function report(last: number, outcome: string, collecting: number, mixing: number[] = []): Report {
  const epoch = {
    number: collecting,
    phase: 'collecting' as const,
    closes_in_ms: 1,
    assigned: 0,
    submitted: 0,
  };
  const status = {
    version: 1,
    epoch,
    mixing: mixing.map((number) => ({ number })),
    last: { number: last, outcome, detail: '' },
    present: [],
    places: [],
    board_length: 0,
  };
  return {
    reachable: true,
    status: { ...status, actions: 0, overdue: null },
    came: 0,
    sealsAt: null,
  };
}

test('only times are offered after which an epoch is sealed', () => {
  for (const seconds of [1, 6, 20, 60])
    for (const time of timesOf(seconds)) {
      const now = { number: 5, sealsAt: 1_000 };
      // What is left of the epoch that collects comes on top.
      const at = sealsAt(epochOf(5, time, seconds), now, seconds);
      expect(at).toBe(1_000 + time * 1000);
      expect(nearestTime(time, seconds)).toBe(time);
    }
  expect([nearestTime(15, 20), nearestTime(30, 20), nearestTime(300, 20)]).toEqual([20, 20, 200]);
  expect(epochOf(5, 0, 3600)).toBe(6);
});

test('the time of the sealing is counted on from the epoch that collects', () => {
  expect(sealsAt(9, { number: 9, sealsAt: 1_000 }, 10)).toBe(1_000);
  expect(sealsAt(11, { number: 9, sealsAt: 1_000 }, 10)).toBe(21_000);
  expect(sealsAt(9, { number: 9, sealsAt: null }, 10)).toBeNull();
  expect(sealsAt(8, { number: 9, sealsAt: 1_000 }, 10)).toBeNull();
});

test('while the board is still being read, no poll is taken for lost, or for counted soon', () => {
  const behind = [report(12, 'published', 13), report(12, 'published', 13)].map((one) => ({
    ...one,
    status: one.status && { ...one.status, board_length: 5 },
  }));
  const reading = { collecting: 13, boards: [], reports: behind, believed: 2, read: false };
  expect(phaseOf(poll, reading)).toBe('unread');
  expect(phaseOf(poll, { ...reading, collecting: null })).toBe('unread');
  expect(phaseOf(poll, { ...reading, boards: [1, 2, 3, 4, 8].map((epoch) => ({ epoch })) })).toBe(
    'lost',
  );
  // Whoever comes while answers are collected need not wait for old walls.
  expect(phaseOf(poll, { ...reading, collecting: 9 })).toBe('open');
});

test('a question is repeated only if nothing came of it', () => {
  const again = { ...poll, number: 6, epoch: 15 };
  const now = { collecting: 13, reports: [], believed: 2, read: true };
  const counted = { ...now, boards: [{ epoch: 9 }] };
  const lost = { ...now, boards: [{ epoch: 8 }, { epoch: 10 }] };
  expect(repeated(again, [poll, again], lost)).toBe(poll);
  // Asked once more after a discussion, it wants new answers.
  expect(repeated(again, [poll, again], counted)).toBeNull();
  expect(repeated(again, [{ ...poll, withdrawn: true }, again], lost)).toBeNull();
  expect(repeated({ ...again, question: 'Where?' }, [poll, again], lost)).toBeNull();
  expect(repeated(poll, [poll, again], lost)).toBeNull();
});

test('an answer is given again by itself only if nobody can have read it', () => {
  const again = { ...poll, number: 6, epoch: 15 };
  const lost = { collecting: 13, boards: [{ epoch: 10 }], reports: [], believed: 2, read: true };
  const given = (ballots: Ballot[], asked: Poll = again) =>
    answeredAgain(asked, [poll, asked], lost, ballots);
  const before = { poll: 4, epoch: 9 };
  expect(given([{ ...before, state: 'missed' }])).toBe(poll);
  expect(given([{ ...before, state: 'doubted' }])).toBeNull();
  expect(given([])).toBeNull();
  const answered: Ballot[] = [
    { ...before, state: 'missed' },
    { poll: 6, epoch: 15, state: 'waiting' },
  ];
  expect(given(answered)).toBeNull();
  expect(given([{ ...before, state: 'missed' }], { ...again, withdrawn: true })).toBeNull();
});

test('a poll goes from open over counting to counted', () => {
  const at = (collecting: number | null, boards: number[], reports: Report[] = []) =>
    phaseOf(poll, {
      collecting,
      boards: boards.map((epoch) => ({ epoch })),
      reports,
      believed: 2,
      read: true,
    });
  expect(at(7, [6])).toBe('open');
  expect(at(9, [8])).toBe('open');
  expect(at(10, [8])).toBe('counting');
  expect(at(10, [8, 9])).toBe('counted');
  expect(
    phaseOf(
      { ...poll, withdrawn: true },
      { collecting: 10, boards: [{ epoch: 9 }], reports: [], believed: 2, read: true },
    ),
  ).toBe('withdrawn');
});

test('a poll is lost when the board has passed its epoch, or when two servers say so', () => {
  const at = (boards: number[], reports: Report[], believed = 2) =>
    phaseOf(poll, {
      collecting: 11,
      boards: boards.map((epoch) => ({ epoch })),
      reports,
      believed,
      read: true,
    });
  expect(at([8, 10], [])).toBe('lost');
  const failed = report(9, 'too-few', 10);
  expect(at([8], [failed])).toBe('counting');
  expect(at([8], [failed, report(9, 'published', 10)])).toBe('counting');
  expect(at([8], [failed, report(9, 'too-few', 10, [9])])).toBe('counting');
  expect(at([8], [failed, report(10, 'published', 11)])).toBe('lost');
  expect(at([8], [failed, report(10, 'published', 11)], 3)).toBe('counting');
});

test('a chart shows shares of those who answered', () => {
  expect(barsOf(choice, tally)).toEqual([
    { label: 'now', votes: 3, share: 0.75, top: true, right: false },
    { label: 'later', votes: 1, share: 0.25, top: false, right: false },
    { label: 'never', votes: 0, share: 0, top: false, right: false },
  ]);
  const nobody = { ...tally, answers: 0, votes: [0, 0, 0] };
  expect(barsOf(choice, nobody).every(({ share, top }) => share === 0 && !top)).toBe(true);
});

test('a rating has a mean, other polls have none', () => {
  expect(meanOf({ rating: { highest: 3 } }, tally)).toBe(1.25);
  expect(meanOf({ rating: { highest: 3 } }, { ...tally, answers: 0 })).toBeNull();
  expect(meanOf(choice, tally)).toBeNull();
});

test('equal words are counted together', () => {
  const words = wordsOf({ ...tally, votes: [], texts: ['Bread', 'wine', ' bread '] });
  expect(words).toEqual([
    { words: 'Bread', times: 2 },
    { words: 'wine', times: 1 },
  ]);
});

test('an answer is made of what was picked, and back', () => {
  const choice: PollForm = { choice: { options: ['a', 'b', 'c'], several: true } };
  expect(answerOf(choice, ['2', '0'])).toEqual({ choice: [0, 2] });
  expect(answerOf(choice, [])).toBeNull();
  expect(answerOf({ rating: { highest: 5 } }, ['4'])).toEqual({ rating: 4 });
  expect(answerOf('text', ['  e\u0301 '])).toEqual({ text: 'é' });
  expect(answerOf('text', [' '])).toBeNull();
  const ranking: PollForm = { ranking: { options: ['a', 'b', 'c'] } };
  expect(answerOf(ranking, ['2', '0'])).toBeNull();
  expect(answerOf(ranking, ['2', '0', '1'])).toEqual({ ranking: [2, 0, 1] });
  expect(chosenOf({ ranking: [2, 0, 1] })).toEqual(['2', '0', '1']);
  for (const answer of [{ choice: [0, 2] }, { rating: 4 }, { text: 'é' }]) {
    const form =
      'choice' in answer ? choice : 'rating' in answer ? { rating: { highest: 5 } } : 'text';
    expect(answerOf(form, chosenOf(answer))).toEqual(answer);
  }
});

const round = (number: number, indices: number[], withdrawn = false): Poll => ({
  ...poll,
  number,
  withdrawn,
  form: { messages: { targets: indices.map((index) => ({ epoch: 2, index })) } },
});

test('the newest round counts for a message, and rounds are never added up', () => {
  const tallies: Record<number, number[]> = { 1: [5, 3], 2: [2, 1], 3: [9, 9] };
  const tally = ({ number }: Poll) =>
    tallies[number]
      ? { answers: 9, votes: tallies[number], texts: [], invalid: 0, erased: 0 }
      : null;
  const polls = [
    round(1, [0, 1]),
    poll,
    round(2, [1, 2]),
    round(3, [0, 1], true),
    round(4, [0, 1]),
  ];
  expect([...votesOf(polls, tally)]).toEqual([
    ['2/0', 5],
    ['2/1', 2],
    ['2/2', 1],
  ]);
});

test('a round of which nothing is left says nothing of its messages, and not that nobody voted', () => {
  const tally = ({ number }: Poll) =>
    number === 1
      ? { answers: 9, votes: [5, 3], texts: [], invalid: 0, erased: 4 }
      : { answers: 0, votes: [0, 0], texts: [], invalid: 0, erased: 4 };
  expect([...votesOf([round(1, [0, 1]), round(2, [1, 2])], tally)]).toEqual([['2/0', 5]]);
});

test('a chart of messages and of a ranking begins with the most votes, and calls hidden messages by no text', () => {
  const texts = (target: { index: number }) => (target.index === 1 ? null : `text ${target.index}`);
  const bars = barsOf(
    round(1, [0, 1, 2]).form,
    { answers: 4, votes: [1, 2, 4], texts: [], invalid: 0, erased: 0 },
    { textOf: texts },
  );
  expect(bars.map(({ label, share }) => [label, share])).toEqual([
    ['text 2', 1],
    [null, 0.5],
    ['text 0', 0.25],
  ]);
  const order = barsOf(
    { ranking: { options: ['a', 'b', 'c'] } },
    { answers: 2, votes: [0, 4, 2], texts: [], invalid: 0, erased: 0 },
  );
  expect(order.map(({ label, share, top }) => [label, share, top])).toEqual([
    ['b', 1, true],
    ['c', 0.5, false],
    ['a', 0, false],
  ]);
});

test('an order is made by touching, and the last option falls into place', () => {
  expect(ranked([], '2', 3)).toEqual(['2']);
  expect(ranked(['2'], '0', 3)).toEqual(['2', '0', '1']);
  expect(ranked(['2', '0', '1'], '0', 3)).toEqual(['2', '1']);
  expect(ranked(['2', '1'], '0', 3)).toEqual(['2', '1', '0']);
});

test('an answer is right only as a whole', () => {
  expect(isRight({ choice: [0, 2] }, [2, 0])).toBe(true);
  for (const choice of [[0], [0, 1], [0, 1, 2]]) expect(isRight({ choice }, [0, 2])).toBe(false);
});
