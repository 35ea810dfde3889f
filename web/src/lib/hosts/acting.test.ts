import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { Played, atOnce, scriptOf, written, type HostScript } from '../../test/visits';
import { loadForTest } from '../../test/world';
import { Actor, type Deed } from './acting';
import { DeviceKey, HostLog, RoomHost } from '../page/cryptography';
import { LocalizedError } from '../servers/localized';
import { Declined } from '../servers/reason';
import { LogBook } from './hostlog';

beforeAll(loadForTest);
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

type Answer = { status: number; body: string };

/** A host at its page, and servers that answer by a script, or as they are told. */
class Page {
  readonly log: HostLog;
  readonly actor: Actor;
  readonly leaving = new AbortController();
  readonly played: Played;
  grown = 0;

  constructor(
    readonly script: HostScript,
    followed = false,
    says?: (path: string, body: string | null) => Answer,
  ) {
    vi.setSystemTime(script.start);
    this.played = new Played(script);
    this.log = new HostLog(JSON.stringify(script.servers), JSON.stringify(script.descriptor));
    const key = DeviceKey.fromSeed(Uint8Array.from(script.key));
    const machine = new RoomHost(this.log, key, followed, Uint8Array.from(script.seed));
    const servers = [0, 1, 2].map((party) =>
      says
        ? {
            carry: async ({ path, body }: { path: string; body: string | null }) =>
              says(path, body),
          }
        : this.played.server(party, atOnce),
    );
    this.actor = new Actor(machine, servers, this.log, atOnce, this.leaving.signal, () => {
      this.grown++;
    });
  }

  view() {
    return new LogBook().take(this.log.changes());
  }
}

const pin = (index: number): Deed => ({ pin: { target: { epoch: 1, index }, pinned: true } });

test.each(['host', 'host-troubles'])('the page acts as the scripts say: %s', async (name) => {
  const script = scriptOf<HostScript>(name);
  const page = new Page(script);
  const ends: unknown[] = [];
  for (const { at, deed } of script.wishes)
    setTimeout(() => {
      page.actor
        .act(() => deed as Deed)
        .then(
          () => ends.push('done'),
          (error: unknown) => ends.push(error),
        );
    }, at);
  await vi.advanceTimersByTimeAsync(script.lasts - 1);
  expect(script.exchanges.length).toBeGreaterThan(5);
  expect(page.played.sent).toEqual(written(script));
  expect(ends.slice(0, 3)).toEqual(['done', 'done', 'done']);
  expect(ends[3]).toBeInstanceOf(Declined);
  expect(ends[3]).toMatchObject({ code: 'deed' });
  const { polls, invitations, marks } = page.view();
  expect([polls.length, invitations.length]).toEqual([1, 2]);
  expect(marks.map(({ index }) => index)).toContain(2);
  expect(page.grown).toBeGreaterThan(2);
});

test('what is to be done is asked anew when another action was first, and what hinders that is told', async () => {
  const page = new Page(scriptOf<HostScript>('host-troubles'));
  const [wish] = page.script.wishes;
  let asked = 0;
  await vi.advanceTimersByTimeAsync(wish?.at ?? 0);
  const done = page.actor.act(() => {
    asked++;
    if (asked > 1) throw new LocalizedError('no epoch');
    return wish?.deed as Deed;
  });
  const told = expect(done).rejects.toThrow('no epoch');
  await vi.advanceTimersByTimeAsync(30_000);
  await told;
  expect(asked).toBe(2);
});

test('a refusal is told and holds up nothing that comes after it, and none is an answer of its own', async () => {
  const says = (status: number, body = '{"detail":"no such message"}') => ({ status, body });
  let answer = says(422);
  const page = new Page(scriptOf<HostScript>('host'), true, (_, body) =>
    body === null ? says(200, '{"actions":[]}') : answer,
  );
  const refused = page.actor.act(() => pin(1));
  const told = [expect(refused).rejects.toThrow('no such message')];
  await vi.advanceTimersByTimeAsync(100);
  await Promise.all(told);

  answer = says(201, '{"number":0}');
  await page.actor.act(() => pin(2));
  expect(page.view().marks.map(({ index }) => index)).toEqual([2]);

  answer = says(0, '');
  const lost = expect(page.actor.act(() => pin(3))).rejects.toBeInstanceOf(LocalizedError);
  await vi.advanceTimersByTimeAsync(60_000);
  await lost;
  answer = says(409);
  const overtaken = expect(page.actor.act(() => pin(3))).rejects.toMatchObject({ status: 409 });
  await vi.advanceTimersByTimeAsync(60_000);
  await overtaken;
});

test('who leaves brings to an end what is on its way, and does nothing more', async () => {
  const script = scriptOf<HostScript>('host');
  const page = new Page(script);
  const deed = script.wishes[0]?.deed as Deed;
  const done = new Promise<void>((resolve) => {
    setTimeout(() => void page.actor.act(() => deed).then(resolve), script.wishes[0]?.at);
  });
  await vi.advanceTimersByTimeAsync((script.wishes[0]?.at ?? 0) + 1);
  page.leaving.abort();
  await vi.advanceTimersByTimeAsync(5_000);
  await done;
  void page.actor.act(() => pin(1));
  const sent = page.played.sent.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(page.played.sent).toHaveLength(sent);
});
