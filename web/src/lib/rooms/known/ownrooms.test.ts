import { expect, test } from 'vitest';

import { memory } from '../../../test/memory';
import { remember } from '../../hosts/hosted';
import { forgetHosted, roomsHosted, roomsVisited } from './ownrooms';
import { prepare, preparedFor } from '../../hosts/prepared';
import { visit } from './visited';

const hosted = (room: string, seed: string) => ({ name: `Room ${room}`, room, servers: 's', seed });

test('the key that was used last opens the room’s page without being named', () => {
  const storage = memory();
  remember(storage, hosted('a', 'first'));
  remember(storage, hosted('a', 'second'));
  expect(roomsHosted(storage).map(({ href }) => href)).toEqual(['#/host/a/s', '#/host/a/s/first']);
});

test('a room in which one takes part and which one hosts is listed twice, and told apart', () => {
  const storage = memory();
  visit(storage, { name: 'Agora', room: 'a', servers: 's', at: 1 });
  remember(storage, hosted('a', 'first'));
  remember(storage, hosted('b', 'first'));
  const ids = [...roomsVisited(storage), ...roomsHosted(storage)].map(({ id }) => id);
  expect(new Set(ids).size).toBe(3);
});

test('prepared questions go with the last key of their room, and with no other', () => {
  const storage = memory();
  const question = { question: 'Now?', form: 'text' as const, seconds: 30 };
  for (const room of ['a', 'b']) prepare(storage, room, [question]);
  // The same seed in two rooms is two keys to forget.
  for (const [room, seed] of [
    ['a', 'x'],
    ['a', 'y'],
    ['b', 'x'],
  ] as const)
    remember(storage, hosted(room, seed));
  forgetHosted(storage, hosted('a', 'x'));
  expect(preparedFor(storage, 'a')).toEqual([question]);
  forgetHosted(storage, hosted('a', 'y'));
  expect(preparedFor(storage, 'a')).toEqual([]);
  expect(preparedFor(storage, 'b')).toEqual([question]);
  expect(roomsHosted(storage).map(({ room }) => room.room)).toEqual(['b']);
});
