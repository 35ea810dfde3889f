// A device in a room without a clock: servers that are silent, lie or show another room, and a
// browser that keeps nothing.

import { beforeAll, beforeEach, expect, test, vi } from 'vitest';

import type { MixVisitor } from '../../lib/page/cryptography';
import { fromBase64 } from '../../lib/servers/api';
import { memory } from '../../test/memory';
import { VirtualClock, loadForTest } from '../../test/world';
import { t } from './messages';
import { Mixing, type News } from './mixing';

const ABOUT = {
  name: 'Agora',
  servers: [0, 1, 2, 3].map((i) => ({ name: `server-${i}`, url: `https://${i}.example` })),
  corrupt: 1,
  places: 128,
  limit: 280,
  seconds: 3,
  minimum: 4,
  open: true,
};

/** A device's machine, of which a test says what it has. */
class Machine {
  entries = 0;
  read = 0;
  ticks = 0;
  keeps: Uint8Array | undefined = Uint8Array.of(1);
  readonly heard: [number, string][] = [];

  readonly visitor = {
    tick: () => void this.ticks++,
    ask: (server: number) => Uint8Array.of(server),
    take: (server: number, answer: Uint8Array) => {
      const text = new TextDecoder().decode(answer);
      if (text === 'noise') throw new Error('it is no answer');
      this.heard.push([server, text]);
      return JSON.stringify(text === 'news' ? [{ kind: 'published', epoch: 0 }] : []);
    },
    kept: () => this.keeps,
    say: () => undefined,
    takeBack: () => undefined,
    here: () =>
      JSON.stringify({
        entries: this.entries,
        places: 0,
        rows: 0,
        waited: 0,
        mixing: 0,
        ready: 2,
        convicted: [],
        silent: [],
        admitted: true,
        handed: false,
        covers: false,
        left_out: false,
        in: false,
      }),
  };

  /** The room that hands the machine out, and what it was given. */
  room(seed?: string): { mixing: Mixing; given: [Uint8Array | undefined, string | undefined][] } {
    const given: [Uint8Array | undefined, string | undefined][] = [];
    const board = () => {
      this.read++;
      const epochs = Array.from({ length: this.entries }, (_, epoch) => epoch);
      return JSON.stringify(
        epochs.map((epoch) => ({ epoch, accepted: 4, few: false, messages: [`in ${epoch}`] })),
      );
    };
    const visitor = { ...this.visitor, entries: board } as unknown as MixVisitor;
    const room = {
      about: () => JSON.stringify(ABOUT),
      watch: () => visitor,
      takePart: (kept: Uint8Array | undefined, from: string | undefined) => {
        given.push([kept, from]);
        return visitor;
      },
    };
    return { mixing: Reflect.construct(Mixing, [room, 'ab', seed]) as Mixing, given };
  }
}

/** What each server does with a visit: answers this, or never (`null`). */
let answers: (string | null | Response)[];
let asked: number[];

beforeAll(loadForTest);
beforeEach(() => {
  [answers, asked] = [
    ['', '', '', ''],
    [0, 0, 0, 0],
  ];
  vi.stubGlobal('fetch', (address: string) => {
    const server = Number(/\/\/(\d)/.exec(address)?.[1]);
    asked[server] = (asked[server] ?? 0) + 1;
    const answer = answers[server] ?? null;
    if (answer === null) return new Promise<Response>(() => undefined);
    return Promise.resolve(typeof answer === 'string' ? new Response(answer) : answer.clone());
  });
});

/** Visits for some seconds; the news. */
async function visit(machine: Machine, seconds: number): Promise<News[]> {
  const [clock, leaving, news] = [new VirtualClock(), new AbortController(), [] as News[]];
  const running = machine
    .room()
    .mixing.watch()
    .run(clock, leaving.signal, (heard) => void news.push(...heard));
  await clock.advance(1000 * seconds);
  leaving.abort();
  if (!answers.includes(null)) await running;
  return news;
}

test('a server that is silent holds nothing up', async () => {
  const machine = new Machine();
  answers = ['news', null, '', ''];
  const news = await visit(machine, 5);
  expect(asked[1]).toBe(1);
  for (const server of [0, 2, 3]) expect(asked[server]).toBeGreaterThan(5);
  expect(news).toContainEqual({ kind: 'published', epoch: 0 });
  // The machine's own time goes on.
  expect(machine.ticks).toBeGreaterThan(15);
});

test('noise and refusals are no answers, and the server is asked again', async () => {
  const machine = new Machine();
  answers = ['noise', new Response('news', { status: 503 }), '', ''];
  const news = await visit(machine, 5);
  expect(machine.heard.filter(([server]) => server < 2)).toEqual([]);
  expect(news).toEqual([]);
  expect(asked[0]).toBeGreaterThan(5);
  expect(asked[1]).toBeGreaterThan(5);
});

test('an answer without an end is not read to its end', async () => {
  const machine = new Machine();
  let pulled = 0;
  const chunk = new Uint8Array(1 << 20);
  const endless = () =>
    new Response(new ReadableStream({ pull: (to) => (pulled++, to.enqueue(chunk)) }));
  vi.stubGlobal('fetch', () => Promise.resolve(endless()));
  await visit(machine, 0.2);
  expect(machine.heard).toEqual([]);
  expect(pulled).toBeLessThan(4 * 70);
});

test('the board is read again when it has grown, and not otherwise', async () => {
  const machine = new Machine();
  machine.entries = 2;
  const { mixing } = machine.room();
  const [clock, leaving, watching] = [new VirtualClock(), new AbortController(), mixing.watch()];
  const running = watching.run(clock, leaving.signal, () => undefined);
  await clock.advance(3000);
  expect(watching.board.map((entry) => entry.messages)).toEqual([['in 0'], ['in 1']]);
  expect(machine.read).toBe(1);
  machine.entries = 3;
  await clock.advance(3000);
  expect(watching.board).toHaveLength(3);
  expect(machine.read).toBe(2);
  leaving.abort();
  await running;
});

test('nothing leaves a browser that cannot keep what it must', async () => {
  const machine = new Machine();
  const storage = {
    getItem: () => null,
    setItem: () => {
      throw new Error('it is full');
    },
  };
  const visiting = machine.room().mixing.join(storage);
  const clock = new VirtualClock();
  const leaving = new AbortController();
  await expect(visiting.run(clock, leaving.signal, () => undefined)).rejects.toThrow('full');
  leaving.abort();
  expect(asked).toEqual([0, 0, 0, 0]);
  expect(() => visiting.say('Hello')).toThrow('full');
});

test('what was kept is given to the machine again, and each link keeps its own', () => {
  const storage = memory();
  const first = new Machine();
  const { mixing, given } = first.room('seed');
  expect(mixing.hasJoined(storage)).toBe(false);
  mixing.join(storage).say('Hello');
  expect(mixing.hasJoined(storage)).toBe(true);
  expect(new Machine().room('other').mixing.hasJoined(storage)).toBe(false);
  mixing.join(storage);
  expect(given).toEqual([
    [undefined, 'seed'],
    [fromBase64('AQ=='), 'seed'],
  ]);
});

test('a device that only watches keeps nothing', () => {
  const machine = new Machine();
  machine.keeps = undefined;
  const set = vi.fn();
  machine
    .room()
    .mixing.join({ getItem: () => null, setItem: set })
    .takeBack();
  expect(set).not.toHaveBeenCalled();
});

test('a room opens from the server of the page only if it is the link’s', async () => {
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('NetworkError')));
  await expect(Mixing.open('https://0.example', 'ab')).rejects.toThrow(t.away);
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('{}')));
  await expect(Mixing.open('https://0.example', 'ab')).rejects.toThrow(t.other);
});
