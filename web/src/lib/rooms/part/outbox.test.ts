import { beforeAll, expect, test } from 'vitest';

import { memory } from '../../../test/memory';
import { loadForTest } from '../../../test/world';
import { DeviceKey } from '../../page/cryptography';
import { RoomStore, StorageFull } from './outbox';

beforeAll(loadForTest);

test('key and message survive; rooms do not share them', () => {
  const storage = memory();
  const before = RoomStore.open(storage, 'a');
  before.outbox.put('hello');
  before.save();
  const after = RoomStore.open(storage, 'a');
  expect(after.key.publicKey()).toBe(before.key.publicKey());
  expect(after.outbox.message()).toBe('hello');
  expect(() => after.outbox.put('more')).toThrow('wait');
  const other = RoomStore.open(storage, 'b');
  expect(other.key.publicKey()).not.toBe(before.key.publicKey());
  expect(other.outbox.message()).toBeUndefined();
});

test('what was spoilt is not silently replaced', () => {
  for (const spoilt of ['', '{}', '{"seed":[1],"outbox":"{}"}']) {
    const storage = {
      getItem: () => spoilt,
      setItem: () => expect.unreachable(),
      removeItem: () => expect.unreachable(),
    };
    expect(() => RoomStore.open(storage, 'a')).toThrow('clear this site');
  }
});

test('an invitation is kept until it is taken, and its key is never this device’s', () => {
  const [storage, link] = [memory(), DeviceKey.generate()];
  const before = RoomStore.open(storage, 'a');
  before.outbox.put('hello');
  before.save();
  const invited = RoomStore.open(storage, 'a', link.invitation());
  expect(invited.key.publicKey()).toBe(before.key.publicKey());
  expect(invited.key.publicKey()).not.toBe(link.publicKey());
  expect(invited.outbox.message()).toBe('hello');
  expect(RoomStore.glance(storage, 'a')).toEqual({
    key: before.key.publicKey(),
    invitation: link.invitation(),
  });
  invited.settle();
  expect(RoomStore.open(storage, 'a').invitation).toBeNull();
  expect(RoomStore.glance(storage, 'b')).toBeNull();
});

test('a key moves to another device, and what it left does nothing with it any more', () => {
  const [phone, laptop] = [memory(), memory()];
  const before = RoomStore.open(phone, 'a');
  before.outbox.put('hello');
  before.save();
  const file = before.move();
  before.outbox.takeBack();
  before.save();
  expect(RoomStore.open(phone, 'a').moved).toBe(true);
  expect(RoomStore.open(phone, 'a').outbox.message()).toBe('hello');
  RoomStore.adopt(laptop, 'a', file);
  const after = RoomStore.open(laptop, 'a');
  expect([after.key.publicKey(), after.outbox.message(), after.moved]).toEqual([
    before.key.publicKey(),
    'hello',
    false,
  ]);
  expect(() => RoomStore.adopt(laptop, 'a', file)).toThrow('already');
  RoomStore.adopt(phone, 'a', file);
  expect(RoomStore.open(phone, 'a').moved).toBe(false);
});

test('no other file is taken for a key, and no message is lost for one', () => {
  const [storage, file] = [memory(), RoomStore.open(memory(), 'a').move()];
  for (const wrong of ['', '{}', file.replace('"seed":[', '"seed":[1,')]) {
    expect(() => RoomStore.adopt(storage, 'a', wrong)).toThrow('no file with a key');
  }
  expect(() => RoomStore.adopt(storage, 'b', file)).toThrow('no file with a key');
  const own = RoomStore.open(storage, 'a');
  own.outbox.put('hello');
  own.save();
  expect(() => RoomStore.adopt(storage, 'a', file)).toThrow('something to say');
  expect(RoomStore.open(storage, 'a').outbox.message()).toBe('hello');
});

test('what is forgotten is not written down again', () => {
  const storage = memory();
  const store = RoomStore.open(storage, 'a');
  expect(RoomStore.known(storage, 'a')).toBe(true);
  store.forget();
  store.save();
  expect(RoomStore.known(storage, 'a')).toBe(false);
});

/** A storage with room for so many letters. */
function small(room: number) {
  const storage = { ...memory(), room };
  const { setItem } = storage;
  storage.setItem = (name, text) => {
    if (text.length > storage.room) throw new DOMException('full', 'QuotaExceededError');
    setItem(name, text);
  };
  return storage;
}

test('a full storage is told, and what could not be written down is so later', () => {
  const storage = small(1 << 20);
  const store = RoomStore.open(storage, 'a');
  const told: boolean[] = [];
  store.watch = (kept) => told.push(kept);
  storage.room = 0;
  store.outbox.put('hello');
  expect(store.trySave()).toBe(false);
  // Nothing leaves the device that is not written down.
  expect(() => store.save()).toThrow(StorageFull);
  expect(() => store.move()).toThrow(StorageFull);
  expect(store.moved).toBe(false);
  expect(store.outbox.message()).toBe('hello');
  storage.room = 1 << 20;
  store.save();
  expect(RoomStore.open(storage, 'a').outbox.message()).toBe('hello');
  expect(told).toEqual([false, false, false, true]);
});

test('a room has its place in the storage from the beginning, so that a message always fits', () => {
  const storage = small(1 << 20);
  const store = RoomStore.open(storage, 'a');
  storage.room = storage.getItem('ostrakon/room/a')?.length ?? 0;
  store.outbox.put('m'.repeat(1_000));
  store.save();
  expect(RoomStore.open(storage, 'a').outbox.message()).toHaveLength(1_000);
});

test('who cannot keep anything does not begin', () => {
  expect(() => RoomStore.open(small(0), 'a')).toThrow('storage is full');
});
