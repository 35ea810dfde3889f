// From a wish to a room, with servers that do as they are told.

import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { Problem, readServers, type Request } from '../../lib/servers/api';
import { DeviceKey, HostLog, RoomOpening, roomId } from '../../lib/page/cryptography';
import { LocalizedError } from '../../lib/servers/localized';
import { WrongServers } from '../../lib/servers/deployment';
import { hostedRooms, isToModerate } from '../../lib/hosts/hosted';
import type { NewRoom } from '../../lib/hosts/hosting';
import { LogBook } from '../../lib/hosts/hostlog';
import { Altered, Opening } from '../../lib/hosts/opening';
import { memory } from '../../test/memory';
import {
  Played,
  atOnce,
  scriptOf,
  written,
  type HostScript,
  type OpeningScript,
} from '../../test/visits';
import { loadForTest } from '../../test/world';
import { Asking, settle, type Around, type Opened } from './open';
import { usual } from './settings';

beforeAll(loadForTest);
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

const SERVERS = JSON.stringify(scriptOf<HostScript>('host').servers);
const policy = {
  servers: 3,
  create: 'anyone' as const,
  limits: {
    payload: [32, 4096],
    capacity: [3, 4096],
    seconds: [1, 604_800],
    retention: null,
  } as const,
};

const ORIGIN = 'https://a.example';
const LIST = readServers(SERVERS);

/** Servers that open rooms, and what they were asked for in its order. */
class Opener {
  readonly asked: string[] = [];
  readonly storage = memory();
  /** The hosts of the rooms that were asked for, and with which code. */
  readonly hosts: string[] = [];
  readonly codes: (string | undefined)[] = [];
  descriptor = '';
  /** Milliseconds for which the room is looked for in vain. */
  hidden = 0;
  /** Rooms that are opened without an answer. */
  lost = 0;
  /** Who says that another server opens rooms. */
  elsewhere: number[] = [];
  /** What the last server names as the servers. */
  names: object = {};
  /** What is wrong with actions. */
  broken: Problem | null = null;
  /** What it makes of a wish. */
  bend: Partial<NewRoom> = {};
  readonly actions: unknown[] = [];
  private readonly began = Date.now();

  around(): Around {
    return {
      origin: ORIGIN,
      storage: this.storage,
      at: (origin, code) => ({
        servers: () => Promise.resolve(LIST),
        carry: async ({ path, body }: Request) => {
          await Promise.resolve();
          const party = LIST.servers.findIndex(({ url }) => url === origin);
          const [status, answer] = this.answer(Math.max(0, party), path, body, code);
          return { status, body: JSON.stringify(answer) };
        },
      }),
      clock: atOnce,
    };
  }

  private answer(
    party: number,
    path: string,
    body: string | null,
    code?: string,
  ): [number, object | null] {
    if (path === 'rooms') {
      const room = JSON.parse(body ?? '') as NewRoom;
      this.hosts.push(room.host);
      this.codes.push(code);
      if (this.elsewhere.includes(party)) return [421, { detail: 'another one' }];
      this.asked.push('create');
      if (this.lost-- > 0) return [0, null];
      const nonce = Array<number>(16).fill(this.asked.length);
      this.descriptor = JSON.stringify({ ...room, ...this.bend, nonce });
      return [201, this.room()];
    }
    if (path === 'servers') {
      const names = party === LIST.servers.length - 1 ? this.names : {};
      return [200, { ...(JSON.parse(SERVERS) as object), you: party, ...names }];
    }
    if (!path.includes('/actions')) {
      if (party === 0) this.asked.push(`look, ${hostedRooms(this.storage).length} kept`);
      const isHidden = Date.now() < this.began + this.hidden;
      return isHidden ? [404, { detail: 'no such room' }] : [200, this.room()];
    }
    if (body === null)
      return [200, { actions: this.actions.slice(Number(/from=(\d+)/.exec(path)?.[1])) }];
    const { broken } = this;
    if (broken) return [broken.status, { detail: broken.message }];
    this.asked.push('act');
    this.actions.push(JSON.parse(body));
    return [201, { number: this.actions.length - 1 }];
  }

  private room(): object {
    const { descriptor } = this;
    return { id: roomId(descriptor), descriptor: JSON.parse(descriptor) as object, state: 'open' };
  }

  /** Whether the room that was opened shows approved messages only. */
  moderated(): boolean {
    const log = new HostLog(SERVERS, this.descriptor);
    log.read(JSON.stringify(this.actions));
    return new LogBook().take(log.changes()).moderated;
  }
}

const wish = (moderated: boolean) => ({ ...usual('lecture', policy as never), moderated });

/** What comes of something, time passing meanwhile. */
async function through<T>(doing: Promise<T>): Promise<T> {
  doing.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(30_000);
  return doing;
}

const asks = (asking: Asking, moderated = false, code = '') =>
  through(asking.create('Agora', '', wish(moderated), code));
const opens = (opener: Opener, moderated = false) => asks(new Asking(opener.around()), moderated);
const settles = (opened: Opened, opener: Opener) => through(settle(opened, opener.around()));

test.each(['opening', 'opening-troubles'])(
  'the page opens rooms as the scripts say: %s',
  async (name) => {
    const script = scriptOf<OpeningScript>(name);
    vi.setSystemTime(script.start);
    const played = new Played(script);
    const order = Uint8Array.from(script.order);
    const [servers, room] = [JSON.stringify(script.servers), JSON.stringify(script.wish)];
    const machine = new RoomOpening(servers, order, room, Uint8Array.from(script.seed));
    const server = (party: number) => played.server(party, atOnce);
    const opening = new Opening(machine, [0, 1, 2].map(server), atOnce);
    const opened = opening.open();
    await vi.advanceTimersByTimeAsync(script.lasts - 1);
    expect(roomId((await opened).descriptor)).toBe((await opened).room);
    expect(played.sent).toEqual(written(script));
    await opening.shown();
  },
);

test('the host’s key is kept before anybody looks for the room', async () => {
  const opener = new Opener();
  opener.hidden = 1_000;
  const opened = await opens(opener);
  expect(hostedRooms(opener.storage)).toEqual([
    { ...opened.pin, name: 'Agora', seed: opened.seed },
  ]);
  expect(opened.kept).toBe(true);
  expect(await settles(opened, opener)).toBe(null);
  const [first, ...looks] = opener.asked;
  expect(first).toBe('create');
  expect(looks.length).toBeGreaterThan(1);
  expect(new Set(looks)).toEqual(new Set(['look, 1 kept']));
});

test('the engine that is chosen is the room’s, or the room is not taken', async () => {
  const opener = new Opener();
  const chosen = { ...wish(false), engine: 'clarion', mode: 'robust' } as const;
  const opens = () => through(new Asking(opener.around()).create('Agora', '', chosen, ''));
  const opened = await opens();
  expect(JSON.parse(opener.descriptor)).toMatchObject({ engine: 'clarion', mode: 'fair' });
  expect(await settles(opened, opener)).toBe(null);
  opener.bend = { engine: 'ruffle' };
  await expect(opens()).rejects.toThrow(Altered);
});

test('a server that opens rooms is found, and each that is asked is shown the code', async () => {
  const opener = new Opener();
  opener.elsewhere = [0];
  const opened = await asks(new Asking(opener.around()), false, 'secret');
  expect(opener.codes).toEqual(['secret', 'secret']);
  expect(opened.pin.room).toBe(roomId(opener.descriptor));
  opener.elsewhere = [0, 1, 2];
  await expect(opens(opener)).rejects.toMatchObject({ status: 421 });
});

test('the same that is asked for again, since no answer came, is asked for with the same key, and anything else with another', async () => {
  const opener = new Opener();
  opener.lost = 2;
  const asking = new Asking(opener.around());
  await expect(asks(asking)).rejects.toBeInstanceOf(LocalizedError);
  await expect(asks(asking, true)).rejects.toBeInstanceOf(LocalizedError);
  const opened = await asks(asking, true);
  await asks(asking, true);
  const [first, second, third, fourth] = opener.hosts;
  expect(third).toBe(second);
  expect(new Set([first, second, fourth]).size).toBe(3);
  expect(DeviceKey.fromInvitation(opened.seed).publicKey()).toBe(third);
});

test('a room that does not show is looked for again, and no other is opened', async () => {
  const opener = new Opener();
  opener.hidden = Infinity;
  const opened = await opens(opener);
  await expect(settles(opened, opener)).rejects.toThrow('does not show it yet');
  await expect(settles(opened, opener)).rejects.toThrow('does not show it yet');
  opener.hidden = 0;
  expect(await settles(opened, opener)).toBe(null);
  expect(opener.asked.filter((what) => what === 'create')).toHaveLength(1);
  expect(hostedRooms(opener.storage)).toHaveLength(1);
});

test('the key for another room than the one asked for is not kept, and nobody acts in it', async () => {
  const opener = new Opener();
  opener.bend = { minimum: 1 };
  await expect(opens(opener, true)).rejects.toThrow(Altered);
  expect(hostedRooms(opener.storage)).toEqual([]);
  expect(opener.asked).toEqual(['create']);
});

test('where the servers contradict each other, nobody waits for the room, and the host’s key stays', async () => {
  const opener = new Opener();
  opener.names = { session: 'ab'.repeat(32) };
  const opened = await opens(opener, true);
  await expect(settles(opened, opener)).rejects.toThrow(WrongServers);
  expect(opener.asked.filter((what) => what.startsWith('look'))).toHaveLength(1);
  expect(opener.asked).not.toContain('act');
  expect(hostedRooms(opener.storage)).toHaveLength(1);
});

test('what the host wants approved first is the first thing said in the room', async () => {
  const opener = new Opener();
  const opened = await opens(opener, true);
  expect(isToModerate(opener.storage, { ...opened.pin, seed: opened.seed })).toBe(true);
  expect(await settles(opened, opener)).toBe(null);
  expect(opener.asked.at(-1)).toBe('act');
  expect(opener.moderated()).toBe(true);
  expect(isToModerate(opener.storage, { ...opened.pin, seed: opened.seed })).toBe(false);
  const other = new Opener();
  await settles(await opens(other), other);
  expect(other.asked).not.toContain('act');
});

test('if that cannot be said, the host is told why, and the wish is kept for the host’s page', async () => {
  const opener = new Opener();
  opener.broken = new Problem(422, 'no more actions');
  const opened = await opens(opener, true);
  expect(await settles(opened, opener)).toMatchObject({ detail: 'no more actions' });
  expect(isToModerate(opener.storage, { ...opened.pin, seed: opened.seed })).toBe(true);
});

test('a storage that is full is said, and the room is there all the same', async () => {
  const opener = new Opener();
  opener.storage.setItem = () => {
    throw new DOMException('full', 'QuotaExceededError');
  };
  const opened = await opens(opener);
  expect(opened.kept).toBe(false);
  expect(await settles(opened, opener)).toBe(null);
});
