import { render } from 'svelte/server';
import { beforeAll, expect, test } from 'vitest';

import { loadForTest } from '../../test/world';
import PeopleFields from './PeopleFields.svelte';

beforeAll(loadForTest);

const company = { way: 'list' as const, me: true, myName: 'Me', accounts: [], list: '' };
const shown = (...known: { name: string; account: string }[]) =>
  render(PeopleFields, {
    props: { company, known, forget: () => Promise.resolve(), people: 1, mail: false },
  }).body;

test('two people of one name are both offered, with the beginnings of their codes', () => {
  const [one, other] = ['a1b2c3d4'.padEnd(64, '0'), '99887766'.padEnd(64, '0')];
  const page = shown({ name: 'Anna', account: one }, { name: 'Anna', account: other });
  for (const code of [
    'a1b2 c3d4',
    '9988 7766',
    'the digits tell them apart',
    'Forget “Anna (9988 7766)”',
  ])
    expect(page).toContain(code);
  const single = shown({ name: 'Anna', account: one });
  expect(single).toContain('Forget “Anna”');
  expect(single).not.toMatch(/a1b2 c3d4|the digits/);
});
