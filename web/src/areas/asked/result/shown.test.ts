import { expect, test } from 'vitest';

import { en } from '../../../i18n/en/ask';
import { answerOf, type Answer } from '../asking';
import { measure, numbers, pictures } from './shown';

const bins = (counts: number[]): Answer => ({
  kind: 'histogram',
  bins: counts.map((count, from) => ({
    from,
    to: from === counts.length - 1 ? null : from + 1,
    count,
  })),
});

test('choices are shown by name, and what is none of them only if somebody has sent it', () => {
  const names = ['yes', 'no'];
  const title = en.result.histogram;
  const both = [
    { name: 'yes', count: 3 },
    { name: 'no', count: 4 },
  ];
  expect(pictures([bins([3, 4, 0])], names)).toEqual([[title, both]]);
  const beyond = { name: en.result.bin(2, null), count: 1 };
  expect(pictures([bins([3, 4, 1])], names)).toEqual([[title, [...both, beyond]]]);
  // Of four choices there is nothing beyond: the last bin is the last one.
  const four = ['a', 'b', 'c', 'd'];
  const bars = pictures([bins([1, 2, 3, 4])], four)[0]?.[1];
  expect(bars?.map(({ name }) => name)).toEqual(four);
  const top: Answer = { kind: 'top', places: [{ candidate: 1, count: 4 }] };
  expect(pictures([top], names)).toEqual([[en.result.top, [{ name: 'no', count: 4 }]]]);
});

test('answers of groups are read, and what is told of none', () => {
  const read = answerOf(
    {
      'by-group': [
        { size: 4, answer: { sum: 10 } },
        { size: 0, answer: null },
      ],
    },
    6,
  );
  expect(read).toEqual({
    kind: 'groups',
    groups: [
      { size: 4, answer: { kind: 'sum', sum: 10 } },
      { size: 0, answer: null },
    ],
  });
  expect(measure({ kind: 'sum', sum: 10 }, 4)).toBe(2.5);
  expect(answerOf({ something: 'new' }, 6)).toEqual({ kind: 'other' });
  const distinct = answerOf({ distinct: { estimate: 1234 } }, 6);
  expect(numbers([distinct], 6)).toEqual([[en.result.distinct, 'about 1,234']]);
});

test('a mean that two answers tell is shown once', () => {
  const all: Answer[] = [
    { kind: 'sum', sum: 6 },
    { kind: 'spread', mean: 2, deviation: 1 },
  ];
  const names = numbers(all, 3).map(([name]) => name);
  expect(names).toEqual([en.result.sum, en.result.mean, en.result.deviation]);
});
