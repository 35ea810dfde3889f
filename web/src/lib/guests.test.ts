import { expect, test } from 'vitest';

import { guestsIn } from './guests';

const account = '0f'.repeat(32);

test('names come alone, with an e-mail address, or with an account', () => {
  const text = `\uFEFFAnna\r\n\r\n "Berg, Ben" ; ben@example.org\n${account.toUpperCase()},Chloe\ndora@example.org`;
  expect(guestsIn(text)).toEqual({
    guests: [
      { name: 'Anna', account: null },
      { name: 'Berg, Ben', account: null },
      { name: 'Chloe', account },
      { name: 'dora@example.org', account: null },
    ],
    wrong: [],
  });
});

test('a line without a name of its own is named', () => {
  const { guests, wrong } = guestsIn(`Anna\nAnna, a@b.c\n${account}\n,;`);
  expect(guests.map(({ name }) => name)).toEqual(['Anna']);
  expect(wrong).toEqual([2, 3, 4]);
});

test('composed and decomposed letters make one name', () => {
  expect(guestsIn('Zo\u00eb\nZoe\u0308').wrong).toEqual([2]);
});
