import { beforeAll, expect, test } from 'vitest';

import { loadForTest } from '../test/world';
import { Keepsake } from './outbox';

beforeAll(loadForTest);

function memory() {
  const kept = new Map<string, string>();
  return { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, text: string) => void kept.set(name, text) };
}

test('key and message survive; rooms do not share them', () => {
  const storage = memory();
  const before = Keepsake.open(storage, 'a');
  before.outbox.put('hello');
  before.save();
  const after = Keepsake.open(storage, 'a');
  expect(after.key.publicKey()).toBe(before.key.publicKey());
  expect(after.outbox.message()).toBe('hello');
  expect(() => after.outbox.put('more')).toThrow('wait');
  const other = Keepsake.open(storage, 'b');
  expect(other.key.publicKey()).not.toBe(before.key.publicKey());
  expect(other.outbox.message()).toBeUndefined();
});

test('what was spoilt is not silently replaced', () => {
  for (const spoilt of ['', '{}', '{"seed":[1],"outbox":"{}"}']) {
    const storage = { getItem: () => spoilt, setItem: () => expect.unreachable() };
    expect(() => Keepsake.open(storage, 'a')).toThrow('clear this site');
  }
});
