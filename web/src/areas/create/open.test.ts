// From a wish to a room, with servers that do as they are told.

import { beforeAll, expect, test } from 'vitest';

import { Problem } from '../../lib/servers/api';
import { DeviceKey, HostLog, roomId } from '../../lib/page/cryptography';
import { WrongServers, type Deployment, type Pin } from '../../lib/servers/deployment';
import { hostedRooms, isToModerate } from '../../lib/hosts/hosted';
import type { NewRoom } from '../../lib/hosts/hosting';
import { LogBook } from '../../lib/hosts/hostlog';
import { memory } from '../../test/memory';
import { scriptOf, type HostScript } from '../../test/visits';
import { loadForTest } from '../../test/world';
import { Altered, Asking, settle, type Around } from './open';
import { usual } from './settings';

beforeAll(loadForTest);

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

/** A server that opens rooms, and what it was asked for in its order. */
class Opener {
  readonly asked: string[] = [];
  readonly storage = memory();
  descriptor = '';
  /** Looks at the room that find nothing. */
  hidden = 0;
  /** What is wrong with actions. */
  broken: Problem | null = null;
  /** What it makes of a wish. */
  bend: Partial<NewRoom> = {};
  readonly actions: unknown[] = [];
  private time = 1_700_000_000_000;

  around(): Around {
    return {
      origin: 'https://a.example',
      storage: this.storage,
      at: () => ({
        servers: () => Promise.resolve({ raw: SERVERS, servers: [], you: 0 }) as never,
        create: async (room) => {
          this.asked.push('create');
          this.descriptor = JSON.stringify({
            ...room,
            ...this.bend,
            nonce: Array(16).fill(this.asked.length),
          });
          return roomId(this.descriptor);
        },
        carry: ({ path, body }) => Promise.resolve(this.carry(path, body)),
      }),
      connect: (pin) => this.connect(pin),
      clock: {
        now: () => this.time,
        sleep: (ms) => {
          this.time += ms;
          return Promise.resolve();
        },
      },
    };
  }

  private carry(path: string, body: string | null) {
    if (body === null) {
      const actions = this.actions.slice(Number(/from=(\d+)/.exec(path)?.[1]));
      return { status: 200, body: JSON.stringify({ actions }) };
    }
    const { broken } = this;
    if (broken) return { status: broken.status, body: JSON.stringify({ detail: broken.message }) };
    this.asked.push('act');
    this.actions.push(JSON.parse(body));
    return { status: 201, body: JSON.stringify({ number: this.actions.length - 1 }) };
  }

  private async connect(pin: Pin): Promise<Deployment> {
    this.asked.push(`look, ${hostedRooms(this.storage).length} kept`);
    if (this.hidden-- > 0) throw new Problem(404, 'no such room');
    const { descriptor } = this;
    return {
      pin,
      servers: SERVERS,
      descriptor,
      operators: [{ party: 0, name: 'a', origin: 'https://a.example' }],
    } as unknown as Deployment;
  }

  /** Whether the room that was opened shows approved messages only. */
  moderated(): boolean {
    const log = new HostLog(SERVERS, this.descriptor);
    log.read(JSON.stringify(this.actions));
    return new LogBook().take(log.changes()).moderated;
  }
}

const wish = (moderated: boolean) => ({ ...usual('lecture', policy as never), moderated });
const opens = (opener: Opener, moderated = false) =>
  new Asking(opener.around()).create('Agora', '', wish(moderated), '');

test('the host’s key is kept before anybody looks for the room', async () => {
  const opener = new Opener();
  opener.hidden = 1;
  const opened = await opens(opener);
  expect(hostedRooms(opener.storage)).toEqual([
    { ...opened.pin, name: 'Agora', seed: opened.seed },
  ]);
  expect(opened.kept).toBe(true);
  expect(await settle(opened, opener.around())).toBe(null);
  expect(opener.asked).toEqual(['create', 'look, 1 kept', 'look, 1 kept']);
});

test('the engine that is chosen is the room’s, or the room is not taken', async () => {
  const opener = new Opener();
  const chosen = { ...wish(false), engine: 'clarion', mode: 'robust' } as const;
  const opens = () => new Asking(opener.around()).create('Agora', '', chosen, '');
  const opened = await opens();
  expect(JSON.parse(opener.descriptor)).toMatchObject({ engine: 'clarion', mode: 'fair' });
  expect(await settle(opened, opener.around())).toBe(null);
  opener.bend = { engine: 'ruffle' };
  await expect(settle(await opens(), opener.around())).rejects.toThrow(Altered);
});

test('the same that is asked for again, since no answer came, is asked for with the same key, and anything else with another', async () => {
  const opener = new Opener();
  const around = opener.around();
  const hosts: string[] = [];
  let lost = 2;
  const at = (origin: string) => ({
    ...around.at(origin),
    create: (room: NewRoom, code: string) => {
      hosts.push(room.host);
      return lost-- > 0
        ? Promise.reject(new TypeError('network'))
        : around.at(origin).create(room, code);
    },
  });
  const asking = new Asking({ ...around, at });
  await expect(asking.create('Agora', '', wish(false), '')).rejects.toThrow('network');
  await expect(asking.create('Agora', '', wish(true), '')).rejects.toThrow('network');
  const opened = await asking.create('Agora', '', wish(true), '');
  await asking.create('Agora', '', wish(true), '');
  const [first, second, third, fourth] = hosts;
  expect(third).toBe(second);
  expect(new Set([first, second, fourth]).size).toBe(3);
  expect(DeviceKey.fromInvitation(opened.seed).publicKey()).toBe(third);
});

test('a room that does not show is looked for again, and no other is opened', async () => {
  const opener = new Opener();
  opener.hidden = 1_000;
  const opened = await opens(opener);
  await expect(settle(opened, opener.around())).rejects.toThrow('does not show it yet');
  opener.hidden = 0;
  expect(await settle(opened, opener.around())).toBe(null);
  expect(opener.asked.filter((what) => what === 'create')).toHaveLength(1);
  expect(hostedRooms(opener.storage)).toHaveLength(1);
});

test('another room than the one asked for is forgotten, and not acted in', async () => {
  const opener = new Opener();
  opener.bend = { minimum: 1 };
  const opened = await opens(opener, true);
  await expect(settle(opened, opener.around())).rejects.toThrow(Altered);
  expect(hostedRooms(opener.storage)).toEqual([]);
  expect(opener.asked).not.toContain('act');
});

test('where the servers contradict each other, nobody waits for the room, and the host’s key stays', async () => {
  const opener = new Opener();
  const opened = await opens(opener, true);
  let looks = 0;
  const contradicted = {
    ...opener.around(),
    connect: () => Promise.reject(new WrongServers(`look ${++looks}`)),
  };
  await expect(settle(opened, contradicted)).rejects.toThrow(WrongServers);
  expect(looks).toBe(1);
  expect(hostedRooms(opener.storage)).toHaveLength(1);
});

test('what the host wants approved first is the first thing said in the room', async () => {
  const opener = new Opener();
  const opened = await opens(opener, true);
  expect(isToModerate(opener.storage, { ...opened.pin, seed: opened.seed })).toBe(true);
  expect(await settle(opened, opener.around())).toBe(null);
  expect(opener.asked.at(-1)).toBe('act');
  expect(opener.moderated()).toBe(true);
  expect(isToModerate(opener.storage, { ...opened.pin, seed: opened.seed })).toBe(false);
  const other = new Opener();
  await settle(await opens(other), other.around());
  expect(other.asked).not.toContain('act');
});

test('if that cannot be said, the host is told why, and the wish is kept for the host’s page', async () => {
  const opener = new Opener();
  opener.broken = new Problem(422, 'no more actions');
  const opened = await opens(opener, true);
  expect(await settle(opened, opener.around())).toMatchObject({ detail: 'no more actions' });
  expect(isToModerate(opener.storage, { ...opened.pin, seed: opened.seed })).toBe(true);
});

test('a storage that is full is said, and the room is there all the same', async () => {
  const opener = new Opener();
  opener.storage.setItem = () => {
    throw new DOMException('full', 'QuotaExceededError');
  };
  const opened = await opens(opener);
  expect(opened.kept).toBe(false);
  expect(await settle(opened, opener.around())).toBe(null);
});
