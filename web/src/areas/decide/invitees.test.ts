import { beforeAll, expect, test } from 'vitest';

import { loadForTest } from '../../test/world';
import { guestsOf, listed } from './invitees';

beforeAll(loadForTest);

const person = (name: string, code: string) => ({ name, account: code.padEnd(64, '0') });
const shown = (...known: ReturnType<typeof person>[]) =>
  listed(known).map(({ name, code }) => `${name}|${code}`);

test('who bears a name alone is listed by it', () => {
  expect(shown(person('Anna', 'a1'), person('Ben', 'b1'))).toEqual(['Anna|', 'Ben|']);
});

test('several of one name, or of one that looks the same, are told apart by their codes', () => {
  const names = ['Anna', 'anna', 'An\u200bna ', 'Ben'];
  const known = names.map((name, place) => person(name, `${place}123456789ab`));
  expect(shown(...known)).toEqual([
    'Anna|0123 4567',
    'anna|1123 4567',
    'An\u200bna |2123 4567',
    'Ben|',
  ]);
});

test('codes that begin alike are shown as far as they differ', () => {
  expect(shown(person('Anna', '0123456789aa'), person('Anna', '0123456789bb'))).toEqual([
    'Anna|0123 4567 89aa',
    'Anna|0123 4567 89bb',
  ]);
});

test('people of one name are asked together, each with the beginning of the code', () => {
  const known = [person('Anna', 'a1b2c3d4'), person('Anna', '99887766'), person('Ben', 'b1')];
  const guests = guestsOf(
    {
      way: 'list',
      me: true,
      myName: 'Me',
      accounts: known.map(({ account }) => account),
      list: 'Carla',
    },
    known,
    'own',
  );
  expect(guests.map(({ name }) => name)).toEqual([
    'Me',
    'Anna (a1b2 c3d4)',
    'Anna (9988 7766)',
    'Ben',
    'Carla',
  ]);
  // The others are told who it is that is asked, as the list tells it to whoever asks.
  const [alone] = guestsOf(
    { way: 'list', me: false, myName: '', accounts: [known[1]?.account ?? ''], list: '' },
    known,
    'own',
  );
  expect(alone).toEqual({ name: 'Anna (9988 7766)', account: known[1]?.account, address: null });
});
