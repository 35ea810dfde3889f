// From a link to its room, with servers that contradict each other.

import { beforeAll, expect, test } from 'vitest';

import { loadForTest, settled } from '../../test/world';
import { Problem, type RoomInfo, type Server } from './api';
import { DeviceKey, roomId, serversDigest } from '../page/cryptography';
import { ForMessages, WrongServers, connect, type Documents } from './deployment';

beforeAll(loadForTest);

const ORIGIN = 'https://a.example';

const descriptor = (name: string) => ({
  name,
  purpose: '',
  host: null,
  admission: 'open',
  retention_days: null,
  engine: 'ruffle',
  mode: 'fair',
  payload: 256,
  capacity: 64,
  seconds: 6,
  minimum: 1,
  nonce: Array(16).fill(0),
});

/** A clock by which whoever has not answered at once is late. */
const hasty = { now: () => 0, sleep: settled };

/** What a server says of the room; never, if it is silent. */
type Word = RoomInfo | Error | 'silent';

const shows = (state: 'open' | 'closed', name = 'Agora'): RoomInfo => ({
  descriptor: descriptor(name),
  state,
});
const gone = () => new Problem(404, 'no such room');
const away = () => new TypeError('network');

/**
 * Follows a link to the room “Agora”, or another one that is `linked`, of which three servers say
 * something.
 */
function follow(
  words: Word[],
  kept: Documents | null = null,
  linked: object = descriptor('Agora'),
) {
  const urls = ['a', 'b', 'c'].map((name) => `https://${name}.example`);
  const servers = urls.map((url, party) => ({
    party,
    name: url,
    url,
    key: DeviceKey.fromSeed(new Uint8Array(32).fill(party + 1)).publicKey(),
  }));
  const raw = (you: number) => JSON.stringify({ you, session: '09'.repeat(32), servers });
  const at = (url: string) => {
    const party = urls.indexOf(url);
    return {
      servers: () => Promise.resolve({ raw: raw(party), servers, you: party }),
      room: () => {
        const word = words[party];
        if (word === 'silent') return new Promise(() => undefined);
        return word instanceof Error ? Promise.reject(word) : Promise.resolve(word);
      },
    } as unknown as Server;
  };
  const pin = { room: roomId(JSON.stringify(linked)), servers: serversDigest(raw(0)) };
  return connect(pin, ORIGIN, kept, at, hasty);
}

test('a room is closed if two servers say so, and not by the word of one', async () => {
  expect((await follow([shows('closed'), shows('open'), shows('open')])).closed).toBe(false);
  expect((await follow([shows('closed'), away(), gone()])).closed).toBe(false);
  expect((await follow([away(), shows('closed'), shows('closed')])).closed).toBe(true);
});

test('one server that shows the room is enough, whatever the others say or do not say', async () => {
  const nonsense: RoomInfo = { descriptor: {}, state: 'open' };
  for (const other of [gone(), away(), shows('open', 'Another'), nonsense]) {
    expect((await follow([other, other, shows('open')])).name).toBe('Agora');
  }
  expect((await follow(['silent', shows('open'), 'silent'])).name).toBe('Agora');
});

test('what was kept of a room stands in for servers that are away, not for those who say that it is no more', async () => {
  const kept = { servers: '', descriptor: descriptor('Agora') };
  expect((await follow([away(), away(), away()], kept)).name).toBe('Agora');
  expect((await follow([gone(), away(), away()], kept)).name).toBe('Agora');
  await expect(follow([gone(), away(), gone()], kept)).rejects.toThrow('no such room');
  await expect(
    follow([away(), away(), away()], { ...kept, descriptor: descriptor('Another') }),
  ).rejects.toThrow('network');
});

test('a room for messages is no wall, and has a page of its own', async () => {
  const sealed = { ...descriptor('Letters'), admission: 'messages' };
  const word: RoomInfo = { descriptor: sealed, state: 'open' };
  await expect(follow([word, word, word], null, sealed)).rejects.toThrow(ForMessages);
});

test('another room in its place is refused', async () => {
  await expect(follow([shows('open', 'Another'), away(), away()])).rejects.toThrow(WrongServers);
  await expect(follow([away(), gone(), away()])).rejects.toThrow('no such room');
});
