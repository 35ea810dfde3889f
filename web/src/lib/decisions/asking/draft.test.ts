import { beforeAll, expect, test } from 'vitest';

import { loadForTest } from '../../../test/world';
import { DeviceKey, decisionId, tableRows } from '../../page/cryptography';
import {
  allMustAnswer,
  complaintOf,
  dateAnswers,
  datesOf,
  daysFrom,
  draftOf,
  entriesOf,
  forTopic,
  nextDay,
  rulesFor,
  withOption,
  withoutOption,
  type Wish,
} from './draft';

beforeAll(loadForTest);

const NOW = Date.UTC(2026, 10, 22);
const wish: Wish = {
  topic: 'question',
  question: ' Shall we? ',
  options: ['No', 'Yes'],
  dates: [''],
  needBe: false,
  rule: 'majority',
  enough: 1,
  tie: 'none',
  outputs: [],
  assumed: 0,
  acceptBy: '2026-11-26T12:00',
  allNeeded: false,
  quorum: null,
  deadline: '2026-11-29T12:00',
  threshold: 2,
};

function around(people: number) {
  const key = () => DeviceKey.generate().publicKey();
  const seated = Array.from({ length: people }, (_, place) => ({
    name: `p${place}`,
    seat: { invitation: key() },
  }));
  return {
    people: seated,
    creator: key(),
    servers: 'ab'.repeat(32),
    gathering: null,
    nonce: Array.from({ length: 16 }, () => 1),
    dateOptions: ['no', 'yes'],
  };
}

test('every rule makes a draft that the cryptography takes', () => {
  for (const rule of rulesFor(wish, 3)) {
    const outputs = rule === 'custom' ? [0, 1, 0, 1] : [];
    expect(decisionId(draftOf({ ...wish, rule, outputs }, around(3)))).toMatch(/^[0-9a-f]{32}$/);
  }
});

test('a poll has one ballot for each date, in order and in UTC', () => {
  const draft = draftOf(
    {
      ...wish,
      topic: 'dates',
      rule: 'tally',
      dates: ['2027-01-03T18:00', '2027-01-02T18:00', '2027-01-03T18:00', ''],
    },
    around(2),
  );
  const { ballots, question } = JSON.parse(draft) as {
    ballots: { label: string }[];
    question: string;
  };
  const label = (date: string) => `${new Date(date).toISOString().slice(0, 16)}Z`;
  expect(ballots.map((ballot) => ballot.label)).toEqual([
    label('2027-01-02T18:00'),
    label('2027-01-03T18:00'),
  ]);
  expect(question).toBe('Shall we?');
  expect(decisionId(draft)).toMatch(/^[0-9a-f]{32}$/);
});

test('a table has as many rows as the cryptography says', () => {
  for (const [people, options] of [
    [2, 2],
    [6, 3],
    [5, 4],
  ] as const) {
    expect(entriesOf(people, options)).toBe(
      (JSON.parse(tableRows(people, options)) as unknown[]).length,
    );
  }
});

test('what cannot be a draft is said before anything is sent', () => {
  expect(complaintOf(wish, 3, NOW)).toBe(null);
  expect(complaintOf({ ...wish, question: ' ' }, 3, NOW)).toBe('question');
  expect(complaintOf({ ...wish, options: ['Yes', 'Yes '] }, 3, NOW)).toBe('options');
  expect(complaintOf(wish, 1, NOW)).toBe('people');
  expect(complaintOf({ ...wish, topic: 'dates' }, 3, NOW)).toBe('dates');
  expect(complaintOf({ ...wish, rule: 'at-least', enough: 4 }, 3, NOW)).toBe('enough');
  expect(complaintOf({ ...wish, rule: 'custom', outputs: [1] }, 3, NOW)).toBe('table');
  expect(
    complaintOf({ ...wish, rule: 'tally', options: ['a', 'b', 'c', 'd', 'e', 'f'] }, 20, NOW),
  ).toBe('large');
  expect(complaintOf({ ...wish, deadline: '2026-11-01T12:00' }, 3, NOW)).toBe('deadline');
  expect(complaintOf({ ...wish, deadline: '2028-11-01T12:00' }, 3, NOW)).toBe('deadline');
  expect(complaintOf({ ...wish, acceptBy: wish.deadline }, 3, NOW)).toBe('acceptBy');
  expect(complaintOf({ ...wish, acceptBy: '2026-11-01T12:00' }, 3, NOW)).toBe('acceptBy');
  expect(complaintOf({ ...wish, quorum: 2 }, 3, NOW)).toBe('quorum');
  expect(complaintOf({ ...wish, quorum: 4 }, 3, NOW)).toBe('quorum');
  expect(complaintOf({ ...wish, quorum: 2 }, 2, NOW)).toBe(null);
});

test('rules that count one of two answers are there for two answers only, and tables for few people', () => {
  expect(rulesFor({ ...wish, options: ['a', 'b', 'c'] }, 3)).toEqual([
    'plurality',
    'tally',
    'custom',
  ]);
  expect(rulesFor(wish, 7)).not.toContain('custom');
});

test('what is assumed stays the same answer when answers are added or taken away', () => {
  const label = ({ options, assumed }: Pick<Wish, 'options' | 'assumed'>) => options[assumed];
  for (const assumed of [0, 1]) {
    const [two, three] = [{ ...wish, assumed }, withOption({ ...wish, assumed })];
    expect(three.options).toEqual(['Yes', 'No', '']);
    expect(label(three)).toBe(label(two));
    expect(withoutOption(three, 2)).toEqual({ options: wish.options, assumed });
    expect(label(withOption(three))).toBe(label(two));
  }
  expect(withoutOption({ options: ['a', 'b', 'c', 'd'], assumed: 3 }, 1)).toEqual({
    options: ['a', 'c', 'd'],
    assumed: 2,
  });
  expect(withoutOption({ options: ['a', 'b', 'c', 'd'], assumed: 1 }, 1).assumed).toBe(0);
});

test('if need be is an answer about dates in a full count only', () => {
  const words = { impossible: 'no', ifNeedBe: 'perhaps', possible: 'yes' };
  const dates = { topic: 'dates', rule: 'tally', needBe: true } as const;
  expect(dateAnswers(dates, words)).toEqual(['no', 'perhaps', 'yes']);
  expect(dateAnswers({ ...dates, rule: 'majority' }, words)).toEqual(['no', 'yes']);
  expect(dateAnswers({ ...dates, needBe: false }, words)).toEqual(['no', 'yes']);
});

test('whole days and ranges become labels, each once and in order, and a wrong range is told', () => {
  const dates = ['2027-01-05', '2027-01-03/2027-01-04', '2027-01-05', '', '2027-01-03'];
  expect(datesOf({ dates })).toEqual(['2027-01-03', '2027-01-03/2027-01-04', '2027-01-05']);
  const poll = { ...wish, topic: 'dates', rule: 'tally' } as const;
  expect(complaintOf({ ...poll, dates }, 3, NOW)).toBe(null);
  for (const wrong of ['2027-01-05/2027-01-04', '2027-01-05/2027-01-05', '/2027-01-05'])
    expect(complaintOf({ ...poll, dates: [wrong] }, 3, NOW), wrong).toBe('ranges');
});

test('the next day is offered, over months and for both ends, and days in a row are filled in', () => {
  expect(nextDay('2027-02-28')).toBe('2027-03-01');
  expect(nextDay('2027-12-31T18:00/2027-12-31T20:30')).toBe('2028-01-01T18:00/2028-01-01T20:30');
  expect(nextDay('')).toBe('');
  expect(daysFrom('2027-02-27', '2027-03-01', 20)).toEqual([
    '2027-02-27',
    '2027-02-28',
    '2027-03-01',
  ]);
  expect(daysFrom('2027-01-01', '2027-12-31', 20)).toHaveLength(20);
  expect(daysFrom('2027-01-02', '2027-01-01', 20)).toEqual([]);
});

test('of two or three people all must answer, of more where the creator says so', () => {
  const all = (people: number, quorum: number | null = null) => allMustAnswer({ quorum }, people);
  expect([2, 3, 4, 20].map((people) => all(people))).toEqual([true, true, false, false]);
  expect([all(4, 4), all(20, 19), all(0), all(1)]).toEqual([true, false, false, false]);
});

test('dates begin with the full count, questions with the majority', () => {
  expect(forTopic('dates')).toEqual({ rule: 'tally', assumed: 0 });
  expect(forTopic('question')).toEqual({ rule: 'majority', assumed: 0 });
});
