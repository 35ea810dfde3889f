import { expect, test } from 'vitest';

import { guestsIn } from './guests';

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

test('composed and decomposed letters make one name', () => {
  expect(guestsIn('Zo\u00eb\nZoe\u0308').wrong).toEqual([2]);
});
