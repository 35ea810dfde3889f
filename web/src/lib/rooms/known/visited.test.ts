import { expect, test } from 'vitest';

import { unlist, visit, visitedRooms } from './visited';

function memory(text: string | null = null) {
  let kept = text;
  return { getItem: () => kept, setItem: (_: string, text: string) => void (kept = text) };
}

const room = (room: string, at: number, name = room) => ({ room, name, servers: 's', at });

test('each room is listed once, the last visited first, until it is forgotten', () => {
  const storage = memory();
  visit(storage, room('a', 1));
  visit(storage, room('b', 2));
  visit(storage, room('a', 3, 'Agora'));
  expect(visitedRooms(storage).map(({ name }) => name)).toEqual(['Agora', 'b']);
  unlist(storage, 'a');
  expect(visitedRooms(storage)).toEqual([room('b', 2)]);
});

test('what was spoilt is no list, and a full storage keeps nobody out', () => {
  for (const spoilt of ['', '{}', '[{"name":1}]']) expect(visitedRooms(memory(spoilt))).toEqual([]);
  const full = {
    getItem: () => null,
    setItem: () => {
      throw new DOMException('full', 'QuotaExceededError');
    },
  };
  expect(() => visit(full, room('a', 1))).not.toThrow();
});
