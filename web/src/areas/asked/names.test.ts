import { expect, test } from 'vitest';

import { apart, lines, named } from './names';

test('names are put at the end of a question and read from there', () => {
  const names = ['Yes, gladly', 'No (never)', 'Perhaps = 2'];
  const text = named('Will you come?', names);
  expect(text).toBe('Will you come? (0 = Yes, gladly, 1 = No (never), 2 = Perhaps = 2)');
  expect(apart(text)).toEqual({ question: 'Will you come?', names });
  expect(named('How many?', [])).toBe('How many?');
});

test('what is not numbered in order from 0 stays part of the question', () => {
  for (const text of [
    'How many?',
    'In euros (0 = none)?',
    'Where? (0 = north)',
    'Where? (0 = north, 2 = south)',
    'Where? (1 = north, 2 = south)',
  ])
    expect(apart(text)).toEqual({ question: text, names: [] });
});

test('lines are names, each once, without blanks', () => {
  expect(lines(' north\n\nsouth \nnorth\n')).toEqual(['north', 'south']);
});
