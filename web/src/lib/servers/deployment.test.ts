// From a link to its room, with servers that contradict each other, and as the scripts say.

import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { Played, atOnce, scriptOf, written, type ArrivingScript } from '../../test/visits';
import { loadForTest } from '../../test/world';
import type { Request, Server } from './api';
import { Arriving, DeviceKey, roomId, serversDigest } from '../page/cryptography';
import {
  ForMessages,
  Unusable,
  WrongServers,
  arrive,
  connect,
  operatorsOf,
  type Documents,
} from './deployment';
import { LocalizedError } from './localized';
import { reasonOf } from './reason';
import { Malformed } from './shape';

beforeAll(loadForTest);
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

const ORIGIN = 'https://a.example';
const URLS = ['a', 'b', 'c'].map((name) => `https://${name}.example`);

/** The list of the servers, as one of them gives it. */
function listOf(you: number, session = '09') {
  const servers = URLS.map((url, party) => ({
    party,
    name: url.slice(8, 9),
    url,
    key: DeviceKey.fromSeed(new Uint8Array(32).fill(party + 1)).publicKey(),
  }));
  const limits = { payload: [32, 32], capacity: [9, 9], seconds: [1, 60], retention_days: null };
  const own = { you, version: '0', create: 'anyone', limits, digest: '' };
  return JSON.stringify({ ...own, session: session.repeat(32), servers });
}

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
  people: null,
  nonce: Array(16).fill(0),
});

/** What a server says of the room; a status alone is a refusal, 0 no answer. */
type Word = object | number;

const shows = (state: 'open' | 'closed', name = 'Agora', settings: object = {}): Word => {
  const shown = { ...descriptor(name), ...settings };
  return { id: '', descriptor: shown, state };
};

/** Three servers that say this of the room, and what all of them list. */
function serving(words: Word[], lists = [0, 1, 2].map((party) => listOf(party))) {
  return (url: string) => {
    const party = URLS.indexOf(url);
    const answer = (path: string): [number, string] => {
      if (path === 'servers') return [200, lists[party] ?? ''];
      const word = words[party] ?? 0;
      return typeof word === 'number'
        ? [word, '{"detail":"no such room"}']
        : [200, JSON.stringify(word)];
    };
    const carry = ({ path }: Request) => {
      const [status, body] = answer(path);
      return Promise.resolve({ status, body });
    };
    return { carry } as unknown as Server;
  };
}

/** What comes of something, time passing meanwhile. */
async function through<T>(doing: Promise<T>): Promise<T> {
  doing.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(30_000);
  return doing;
}

/** Follows a link to the room “Agora”, or another one that is `linked`. */
function follow(
  words: Word[],
  kept: Documents | null = null,
  linked: object = descriptor('Agora'),
  lists?: string[],
) {
  const pin = { room: roomId(JSON.stringify(linked)), servers: serversDigest(listOf(0)) };
  return through(connect(pin, ORIGIN, kept, serving(words, lists), atOnce));
}

test.each(['arrive', 'arrive-troubles', 'arrive-servers'])(
  'the page arrives as the scripts say: %s',
  async (name) => {
    const script = scriptOf<ArrivingScript>(name);
    vi.setSystemTime(script.start);
    const played = new Played(script);
    const [servers, room] = [script.servers ?? undefined, script.room ?? undefined];
    const { origin, seed } = script;
    const machine = new Arriving(origin, servers, room, undefined, Uint8Array.from(seed));
    // Before the servers are found, there is one, which has the number 0.
    const at = (url: string) =>
      played.server(url === origin ? 0 : Number(/p(\d)/.exec(url)?.[1]), atOnce);
    const arriving = arrive(machine, origin, at, atOnce);
    await vi.advanceTimersByTimeAsync(script.lasts - 1);
    const arrived = await arriving;
    expect(played.sent).toEqual(written(script));
    expect(arrived.operators.map((operator) => operator.party)).toEqual([0, 1, 2]);
    expect(arrived.room === null).toBe(script.room === null);
  },
);

test('a room is shown as its servers and its link name it', async () => {
  const deployment = await follow([shows('open'), shows('open'), shows('open')]);
  expect(deployment).toMatchObject({ name: 'Agora', minimum: 1, closed: false, hosted: false });
  expect(deployment.operators.map(({ origin }) => origin)).toEqual(URLS);
  expect(deployment.operators.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  expect(serversDigest(deployment.servers)).toBe(deployment.pin.servers);
  expect(roomId(deployment.descriptor)).toBe(deployment.pin.room);
  expect(deployment.trust.believed).toBe(2);
});

test('a room is closed if two servers say so, and not by the word of one', async () => {
  expect((await follow([shows('closed'), shows('open'), shows('open')])).closed).toBe(false);
  expect((await follow([0, shows('closed'), shows('closed')])).closed).toBe(true);
});

test('what was kept of a room stands in for servers that are away, not for those who say that it is no more', async () => {
  const kept = { servers: listOf(0), descriptor: descriptor('Agora') };
  expect((await follow([0, 0, 0], kept)).name).toBe('Agora');
  await expect(follow([404, 0, 404], kept)).rejects.toThrow('no such room');
  const silent = ['', '', ''];
  expect((await follow([0, 0, 0], kept, undefined, silent)).name).toBe('Agora');
  const another = { ...kept, descriptor: descriptor('Another') };
  await expect(follow([0, 0, 0], another)).rejects.toThrow(LocalizedError);
});

test('a room for messages is no wall, and has a page of its own', async () => {
  const sealed = { ...descriptor('Letters'), admission: 'messages' };
  const word = shows('open', 'Letters', { admission: 'messages' });
  await expect(follow([word, word, word], null, sealed)).rejects.toThrow(ForMessages);
});

test('why nothing is shown is told as what it is', async () => {
  await expect(follow([shows('open', 'Another'), 0, 0])).rejects.toThrow(WrongServers);
  await expect(follow([0, 404, 0])).rejects.toMatchObject({ status: 404 });
  await expect(follow([{}, 0, 0])).rejects.toThrow(Malformed);
  const elsewhere = { server: 'https://a.example' };
  await expect(follow([shows('open', 'Another'), 0, 0])).rejects.toMatchObject(elsewhere);
  const first = follow([0, 0, 0], null, undefined, [listOf(0, '08'), listOf(1), listOf(2)]);
  await expect(first).rejects.toMatchObject(elsewhere);
  await expect(first).rejects.toThrow(WrongServers);
  await expect(follow([0, 0, 0])).rejects.toThrow('https://a.example');
});

test('a room that no server can keep is told as that, with what is wrong with it', async () => {
  const failure = { kind: 'unusable', why: 'it has no slots' };
  const actions = () => JSON.stringify([{ do: 'failed', failure }]);
  const [machine, never] = [{ wake: vi.fn(), free: vi.fn(), actions }, serving([])];
  const arriving = through(arrive(machine as unknown as Arriving, ORIGIN, never, atOnce));
  const error: unknown = await arriving.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(Unusable);
  expect(error).not.toBeInstanceOf(WrongServers);
  expect(reasonOf(error)).toMatchObject({ detail: 'it has no slots' });
});

test('a server that names others than the link keeps nobody out, and is named', async () => {
  const words = [shows('open'), shows('open'), shows('open')];
  const lists = [listOf(0), listOf(1), listOf(2, '08')];
  const { name, contradicting } = await follow(words, null, undefined, lists);
  expect([name, contradicting]).toEqual(['Agora', ['c']]);
  expect((await follow(words)).contradicting).toEqual([]);
  const unpinned = through(operatorsOf(undefined, ORIGIN, serving([], lists), atOnce));
  await expect(unpinned).rejects.toMatchObject({ server: 'https://c.example' });
});

test('servers without a room are found by one of them, whoever that is', async () => {
  const found = await through(operatorsOf(undefined, 'https://b.example', serving([]), atOnce));
  expect([found.entrance, found.room]).toEqual(['https://b.example', null]);
  expect(found.operators.map(({ origin }) => origin)).toEqual(URLS);
  const other = serversDigest(listOf(0, '08'));
  await expect(through(operatorsOf(other, ORIGIN, serving([]), atOnce))).rejects.toThrow(
    WrongServers,
  );
});
