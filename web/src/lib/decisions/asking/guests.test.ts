import { beforeAll, expect, test } from 'vitest';

import { loadForTest } from '../../../test/world';
import { guestsIn } from './guests';

beforeAll(loadForTest);

const account = '0f'.repeat(32);

test('names come alone, with an e-mail address, or with an account; an address alone is shown to nobody', () => {
  const text = `\uFEFFAnna\r\n\r\n "Berg, Ben" ; ben@example.org\n${account.toUpperCase()},Chloe\ndora@example.org`;
  expect(guestsIn(text)).toEqual({
    guests: [
      { name: 'Anna', account: null, address: null },
      { name: 'Berg, Ben', account: null, address: 'ben@example.org' },
      { name: 'Chloe', account, address: null },
      { name: 'dora', account: null, address: 'dora@example.org' },
    ],
    wrong: [],
  });
});

test('the headings of a table are nobody', () => {
  const names = (text: string) => guestsIn(text).guests.map(({ name }) => name);
  expect(names('Name;E-Mail\nAnna;a@b.c')).toEqual(['Anna']);
  expect(names('email,name\na@b.c,Anna')).toEqual(['Anna']);
  expect(names('Mail\nAnna')).toEqual(['Mail', 'Anna']);
});

test('a line without a name of its own is named', () => {
  const { guests, wrong } = guestsIn(`Anna\nAnna, a@b.c\n${account}\n,;`);
  expect(guests.map(({ name }) => name)).toEqual(['Anna']);
  expect(wrong).toEqual([2, 3, 4]);
});

test('names that look alike are one name, and what is not shown is none', () => {
  expect(guestsIn('Zo\u00eb\nZoe\u0308\nzo\u00eb\nZo\u200b\u00eb\n\u3164\nBen').wrong).toEqual([
    2, 3, 4, 5,
  ]);
});
