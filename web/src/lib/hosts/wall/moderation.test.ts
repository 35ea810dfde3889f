import { expect, test } from 'vitest';

import { EMPTY_LOG, type Marks } from '../hostlog';
import {
  groupsOf,
  inOrder,
  matches,
  messagesOf,
  projected,
  projectedTexts,
  targetsOf,
  votable,
  type Filter,
} from './moderation';

const entry = (epoch: number, messages: string[], indices = messages.map((_, index) => index)) => ({
  epoch,
  accepted: 5,
  signers: [0, 1],
  messages,
  indices,
  erased: [] as number[],
  ballots: 0,
});
const mark = (epoch: number, index: number, marks: Partial<Marks>): Marks => ({
  epoch,
  index,
  hidden: false,
  approved: false,
  pinned: false,
  answered: false,
  erased: false,
  group: null,
  ...marks,
});
const log = {
  ...EMPTY_LOG,
  marks: [
    mark(1, 0, { answered: true }),
    mark(1, 3, { hidden: true, approved: true }),
    mark(2, 0, { pinned: true, approved: true, group: 'bread' }),
    mark(2, 1, { erased: true }),
  ],
};
const messages = messagesOf(
  [entry(1, ['answered', 'hidden'], [0, 3]), entry(2, ['pinned', 'erased', 'new'])],
  log,
);
const texts = (filter: Filter, group: string | null = null, words = '') =>
  messages.filter((message) => matches(message, filter, group, words)).map(({ text }) => text);

test('messages are named by their place among everything that the epoch published', () => {
  expect(messages.map(({ id }) => id)).toEqual(['2/0', '2/1', '2/2', '1/0', '1/3']);
  expect(messages.find(({ id }) => id === '1/3')?.text).toBe('hidden');
});

test('what was erased shows no text, though this page has read it before', () => {
  expect(messages.find(({ id }) => id === '2/1')?.text).toBeNull();
});

test('when everything is deleted, no text is left', () => {
  const all = messagesOf([entry(1, ['answered', 'said'])], { ...log, erased: true });
  expect(all.map(({ text, marks }) => [text, marks.erased, marks.answered])).toEqual([
    [null, true, true],
    [null, true, false],
  ]);
});

test('each filter shows its messages', () => {
  expect(texts('new')).toEqual(['new']);
  expect(texts('unanswered')).toEqual(['pinned', 'new']);
  expect(texts('answered')).toEqual(['answered']);
  expect(texts('pinned')).toEqual(['pinned']);
  expect(texts('hidden')).toEqual(['hidden']);
  expect(texts('all', 'bread')).toEqual(['pinned']);
  expect(texts('all', null, 'ANSW')).toEqual(['answered']);
  expect(groupsOf(messages)).toEqual(['bread']);
});

test('a projector shows nothing hidden or erased, and in a moderated room only what was approved', () => {
  expect(projected(messages, false, new Map()).map(({ text }) => text)).toEqual([
    'pinned',
    'new',
    'answered',
  ]);
  expect(projected(messages, true, new Map()).map(({ text }) => text)).toEqual(['pinned']);
});

test('where messages are voted on, a projector shows no more of them than on its wall', () => {
  const texts = (moderated: boolean) => messages.map(projectedTexts(messages, moderated));
  expect(texts(false)).toEqual(['pinned', null, 'new', 'answered', null]);
  expect(texts(true)).toEqual(['pinned', null, null, null, null]);
});

test('a projector shows what has most votes first, behind what is pinned; what is answered needs none', () => {
  const votes = new Map([
    ['1/0', 9],
    ['2/2', 1],
    ['2/0', 0],
  ]);
  expect(
    projected(
      [...messages, ...messagesOf([entry(3, ['voted'])], EMPTY_LOG)],
      false,
      new Map([...votes, ['3/0', 2]]),
    ).map(({ text }) => text),
  ).toEqual(['pinned', 'voted', 'new', 'answered']);
  expect(inOrder(messages, 'votes', votes).map(({ id }) => id)).toEqual([
    '1/0',
    '2/2',
    '2/0',
    '2/1',
    '1/3',
  ]);
  expect(inOrder(messages, 'oldest', votes).map(({ id }) => id)).toEqual([
    '1/3',
    '1/0',
    '2/2',
    '2/1',
    '2/0',
  ]);
});

test('a vote is about what can be seen and waits for an answer, named in the order of the board', () => {
  expect(votable(messages, false).map(({ text }) => text)).toEqual(['pinned', 'new']);
  expect(votable(messages, true).map(({ text }) => text)).toEqual(['pinned']);
  expect(targetsOf(messages)).toEqual([
    { epoch: 1, index: 0 },
    { epoch: 1, index: 3 },
    { epoch: 2, index: 0 },
    { epoch: 2, index: 1 },
    { epoch: 2, index: 2 },
  ]);
  const many = messagesOf(
    [
      entry(
        1,
        Array.from({ length: 130 }, (_, index) => `m${index}`),
      ),
    ],
    EMPTY_LOG,
  );
  expect(votable(many, false)).toHaveLength(100);
});
