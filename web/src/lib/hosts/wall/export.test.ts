import { expect, test } from 'vitest';

import { csv, fileName, json, messageRows, pollRows, type Whole } from './export';
import { EMPTY_LOG, type Poll, type Tally } from '../hostlog';
import { messagesOf } from './moderation';

const entry = {
  epoch: 3,
  accepted: 7,
  signers: [0, 1],
  messages: ['a "quoted", word', '=HYPERLINK("x")'],
  indices: [0, 2],
  erased: [1],
  ballots: 0,
};
const log = {
  ...EMPTY_LOG,
  marks: [
    {
      epoch: 3,
      index: 2,
      hidden: true,
      approved: false,
      pinned: false,
      answered: true,
      erased: false,
      group: 'links',
    },
  ],
};
const poll: Poll = {
  number: 5,
  question: '+1?',
  form: { choice: { options: ['yes', '-no'], several: true } },
  epoch: 4,
  withdrawn: false,
  right: null,
};
const tally: Tally = { answers: 2, votes: [2, 1], texts: [], invalid: 0, erased: 0 };

test('what people wrote is never a formula', () => {
  const attacks = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '  =1', '＝1', '＠x'];
  for (const attack of attacks)
    expect(csv([[attack]]), JSON.stringify(attack)).toBe(`\uFEFF"'${attack}"\r\n`);
  for (const harmless of ['a=1', '1-2', 'x@y'])
    expect(csv([[harmless]])).toBe(`\uFEFF"${harmless}"\r\n`);
});

test('quotes, commas and line breaks stay inside of their cell', () => {
  expect(csv([['a "b", c\nd', 3, true, null]])).toBe('\uFEFF"a ""b"", c\nd",3,true,\r\n');
});

test('each message is a line with its marks, an erased one without its text', () => {
  const rows = messageRows(messagesOf([entry], log), new Map([['3/0', 4]]));
  expect(rows.slice(1)).toEqual([
    [3, 0, 'a "quoted", word', 7, null, false, false, false, false, false, 4],
    [3, 1, null, 7, null, false, false, false, false, true, null],
    [3, 2, '=HYPERLINK("x")', 7, 'links', true, false, false, true, false, null],
  ]);
  expect(rows.every((row) => row.length === rows[0]?.length)).toBe(true);
});

test('each answer is a line, and a poll without a result has one too', () => {
  const text: Poll = { ...poll, number: 6, form: 'text' };
  const answers: Tally = { answers: 1, votes: [], texts: ['=cmd'], invalid: 0, erased: 2 };
  const rows = pollRows(
    [
      { poll, phase: 'counted', tally },
      { poll: text, phase: 'counted', tally: answers },
      { poll: { ...poll, right: [1] }, phase: 'counted', tally },
      { poll, phase: 'lost', tally: null },
      {
        poll,
        phase: 'counted',
        tally: { answers: 0, votes: [0, 0], texts: [], invalid: 0, erased: 3 },
      },
    ],
    () => null,
  );
  expect(rows.slice(1).map((row) => row.slice(5))).toEqual([
    [2, 'yes', 2, null, 'counted', 0],
    [2, '-no', 1, null, 'counted', 0],
    [1, '=cmd', 1, null, 'counted', 2],
    [2, 'yes', 2, false, 'counted', 0],
    [2, '-no', 1, true, 'counted', 0],
    [null, null, null, null, 'lost', null],
    [0, null, null, null, 'counted', 3],
  ]);
  expect(rows.every((row) => row.length === rows[0]?.length)).toBe(true);
  expect(csv(rows)).toContain('"\'-no"');
});

test('the file for programs holds the heads of both chains', () => {
  const whole: Whole = {
    name: 'Agora',
    purpose: '',
    link: 'https://a.example/#/room/x/y',
    exported: 0,
    board: 'aa',
    log: { ...log, head: 'bb', length: 9 },
    messages: messagesOf([entry], log),
    votes: new Map(),
    results: [{ poll, phase: 'counted', tally }],
  };
  const read = JSON.parse(json(whole)) as {
    heads: unknown;
    polls: { state: string; result: Tally }[];
    messages: { text: string | null }[];
  };
  expect(read.heads).toEqual({ board: 'aa', actions: 'bb', action_count: 9 });
  expect([read.polls[0]?.state, read.polls[0]?.result]).toEqual(['counted', tally]);
  expect(read.messages.map(({ text }) => text)).toEqual([
    'a "quoted", word',
    null,
    '=HYPERLINK("x")',
  ]);
});

test('a file is named after the room', () => {
  expect(fileName('Fragen & Antworten: Übung 3', 'messages.csv')).toBe(
    'fragen-antworten-ubung-3-messages.csv',
  );
  expect(fileName('../..', 'a.csv')).toBe('room-a.csv');
});
