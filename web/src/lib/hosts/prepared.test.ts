import { expect, test } from 'vitest';

import { memory } from '../../test/memory';
import { complaintOf, fileOf, prepare, preparedFor, readFile, type Prepared } from './prepared';

const choice = (options: string[], several = false): Prepared => ({
  question: 'Which?',
  form: { choice: { options, several } },
  seconds: 30,
});
const all: Prepared[] = [
  choice(['a', 'b']),
  choice(['a', 'b', 'c'], true),
  { question: 'How good?', form: { rating: { highest: 7 } }, seconds: 15 },
  { question: 'Why?', form: 'text', seconds: 60 },
  { question: 'In which order?', form: { ranking: { options: ['x', 'y'] } }, seconds: 30 },
];

test('every kind of question is kept in its order, for its room only, and moves as a file', () => {
  const storage = memory();
  prepare(storage, 'agora', all);
  expect(preparedFor(storage, 'agora')).toEqual(all);
  expect(preparedFor(storage, 'stoa')).toEqual([]);
  expect(readFile(fileOf(all))).toEqual(all);
  prepare(storage, 'agora', []);
  expect(storage.getItem('ostrakon/prepared/agora')).toBeNull();
});

test('a question that the log would not take is not kept for later', () => {
  expect(complaintOf({ question: ' ', form: 'text' })).toBe('question');
  expect(complaintOf({ question: 'ä'.repeat(251), form: 'text' })).toBe('long');
  expect(complaintOf(choice(['a']))).toBe('options');
  expect(complaintOf(choice(Array.from({ length: 21 }, (_, index) => String(index))))).toBe(
    'options',
  );
  expect(complaintOf(choice(['a', 'a']))).toBe('same');
  expect(complaintOf(choice(['a', 'ä'.repeat(101)]))).toBe('longOption');
  expect(all.map(complaintOf)).toEqual(all.map(() => null));
});

test('a file that is none is refused, and a wrong question is named', () => {
  const file = (polls: unknown[]) => JSON.stringify({ format: 'ostrakon polls 1', polls });
  for (const wrong of [
    '',
    '[]',
    '{"format":"ostrakon polls 2","polls":[]}',
    file([{ question: 1 }]),
  ]) {
    expect(() => readFile(wrong)).toThrow('no file with prepared questions');
  }
  const good = { question: 'Q', kind: 'text', seconds: 30 };
  for (const bad of [
    { ...good, seconds: 0 },
    { ...good, kind: 'one', options: ['a'] },
    { ...good, kind: 'rating', highest: 11 },
    { ...good, question: ' ' },
  ]) {
    expect(() => readFile(file([good, bad]))).toThrow('question 2');
  }
});

test('a full storage says so, and what is spoilt is as good as nothing', () => {
  const full = {
    ...memory(),
    setItem: () => {
      throw new DOMException('full', 'QuotaExceededError');
    },
  };
  expect(() => prepare(full, 'agora', all)).toThrow('storage is full');
  expect(preparedFor({ ...memory(), getItem: () => '{"polls":3}' }, 'agora')).toEqual([]);
});
