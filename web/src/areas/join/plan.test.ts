import { beforeAll, expect, test } from 'vitest';

import type { Wish } from '../../lib/decisions/asking/draft';
import { loadForTest } from '../../test/world';
import { company, inTime, withAdmitted, withRefused } from './plan';

beforeAll(loadForTest);

const asking = (name: string, account: string) => ({ name, account, time: 0, digits: '' });
const none = { admitted: [], refused: [] };

test('whoever is taken in is not refused any more, and the other way round', () => {
  const [ben, other] = [asking('Ben', 'b'), asking('Ben', 'c')];
  const both = withAdmitted(none, [ben, other]);
  expect(both.admitted.map(({ account }) => account)).toEqual(['b', 'c']);
  const one = withRefused(both, ['c']);
  expect(one).toEqual({ admitted: [{ name: 'Ben', account: 'b' }], refused: ['c'] });
  expect(withRefused(one, ['c'])).toEqual(one);
  expect(withAdmitted(one, [other, ben]).refused).toEqual([]);
  expect(withAdmitted(one, [ben]).admitted).toHaveLength(1);
});

test('people of one name are told apart by the digits that were compared', () => {
  const admitted = [
    { name: 'Ben', account: 'b' },
    { name: ' ben', account: 'c' },
    { name: 'Dora', account: 'd' },
  ];
  const digits: Record<string, string> = {
    b: '1111 2222 3333 4444',
    c: '5555 6666 7777 8888',
    d: '9999 0000 1111 2222',
  };
  const anna = { name: 'Anna', account: 'a', address: null };
  const guests = company([anna], admitted, (account) => digits[account] ?? '');
  expect(guests.map(({ name }) => name)).toEqual([
    'Anna',
    'Ben (1111 2222)',
    'ben (5555 6666)',
    'Dora',
  ]);
  expect(guests.map(({ account }) => account)).toEqual(['a', 'b', 'c', 'd']);
  // Somebody who takes the creator's name is not mistaken for the creator either.
  const [, second] = company([anna], [{ name: 'Anna', account: 'd' }], () => '9999 0000');
  expect(second?.name).toBe('Anna (9999 0000)');
});

test('a creator who comes late can begin as long as there is time to answer', () => {
  const wish = { acceptBy: '2027-01-01T10:00', deadline: '2027-01-01T14:00' } as Wish;
  const at = (time: string) => new Date(`2027-01-01T${time}`).getTime();
  expect(inTime(wish, at('09:00'))).toBe(wish);
  expect(inTime(wish, at('12:00')).acceptBy).toBe('2027-01-01T13:00:00');
  expect(inTime(wish, at('14:00'))).toBe(wish);
});
