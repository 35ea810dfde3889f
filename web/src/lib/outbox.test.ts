import { beforeAll, expect, test } from 'vitest';

import { loadForTest } from '../test/world';
import { DeviceKey } from './cryptography';
import { Keepsake } from './outbox';

beforeAll(loadForTest);

function memory() {
  const kept = new Map<string, string>();
  return {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
    removeItem: (name: string) => void kept.delete(name),
  };
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
    const storage = { getItem: () => spoilt, setItem: () => expect.unreachable(), removeItem: () => expect.unreachable() };
    expect(() => Keepsake.open(storage, 'a')).toThrow('clear this site');
  }
});

test('an invitation names the key, and what waits is said under it', () => {
  const [storage, invitation] = [memory(), DeviceKey.generate().invitation()];
  const before = Keepsake.open(storage, 'a');
  before.outbox.put('hello');
  before.save();
  const invited = Keepsake.open(storage, 'a', invitation);
  expect(invited.key.publicKey()).toBe(DeviceKey.fromInvitation(invitation).publicKey());
  expect(invited.outbox.message()).toBe('hello');
  expect(Keepsake.open(storage, 'a').key.publicKey()).toBe(invited.key.publicKey());
  expect(() => Keepsake.open(storage, 'b', 'no invitation')).toThrow('whole link');
});

test('while something is on its way under one key, an invitation does not replace it', () => {
  const storage = memory();
  const before = Keepsake.open(storage, 'a');
  before.save();
  const { seed, outbox } = JSON.parse(storage.getItem('ostrakon/room/a') ?? '') as { seed: number[]; outbox: string };
  const waiting = { ...(JSON.parse(outbox) as object), message: [104, 105], undecided: 7 };
  storage.setItem('ostrakon/room/a', JSON.stringify({ seed, outbox: JSON.stringify(waiting) }));
  expect(() => Keepsake.open(storage, 'a', DeviceKey.generate().invitation())).toThrow('under another key');
  expect(Keepsake.open(storage, 'a', before.key.invitation()).outbox.message()).toBe('hi');
});

test('what is forgotten is not written down again', () => {
  const storage = memory();
  const keepsake = Keepsake.open(storage, 'a');
  expect(Keepsake.known(storage, 'a')).toBe(true);
  keepsake.forget();
  keepsake.save();
  expect(Keepsake.known(storage, 'a')).toBe(false);
});
