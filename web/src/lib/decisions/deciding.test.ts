// A visit as the page shows it, at servers that answer by a script.

import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { Played, atOnce, scriptOf, written, type Script } from '../../test/visits';
import { loadForTest } from '../../test/world';
import { Deciding } from './deciding.svelte';
import { serversDigest, verifyDecisionArchive } from '../page/cryptography';
import { toBase64 } from '../servers/api';
import { readExamination } from './decision';

beforeAll(loadForTest);
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const never = new AbortController().signal;
const MEMORY = 'ostrakon/account/memory';

/** A browser's storage, which can become full. */
class Cupboard {
  readonly items = new Map<string, string>();
  full = false;

  getItem(name: string): string | null {
    return this.items.get(name) ?? null;
  }

  setItem(name: string, value: string): void {
    if (this.full) throw new DOMException('full', 'QuotaExceededError');
    this.items.set(name, value);
  }

  removeItem(name: string): void {
    this.items.delete(name);
  }
}

/** A browser of the person of a script, and servers that answer by it. */
class Browser {
  readonly script: Script;
  readonly played: Played;
  readonly cupboard = new Cupboard();
  /** What servers say to everything about the decision, instead of what is written. */
  says: number | null = null;

  constructor(name = 'visit') {
    this.script = scriptOf(name);
    this.played = new Played(this.script);
    vi.setSystemTime(this.script.start);
    this.cupboard.setItem('ostrakon/account', toBase64(Uint8Array.from(this.script.key)));
    const locks = { request: (_: string, act: () => unknown) => Promise.resolve().then(act) };
    vi.stubGlobal('navigator', { locks });
    vi.stubGlobal('isSecureContext', true);
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => this.fetch(url, init));
    const draw = <T extends ArrayBufferView | null>(out: T): T => {
      if (out instanceof Uint8Array) out.set(this.script.seed.slice(0, out.length));
      return out;
    };
    vi.spyOn(crypto, 'getRandomValues').mockImplementation(draw as never);
  }

  private async fetch(url: string, init: RequestInit): Promise<Response> {
    const [, party = '', path = ''] = /^http:\/\/p(\d)\.example\/api\/v1\/(.*)$/.exec(url) ?? [];
    if (path === 'servers')
      return new Response(JSON.stringify({ ...this.script.servers, you: Number(party) }));
    // The stock is another matter.
    if (path.startsWith('accounts/')) return new Response('{"stock":8,"wanted":8}');
    const body =
      init.body instanceof Blob ? toBase64(new Uint8Array(await init.body.arrayBuffer())) : null;
    const found = this.played.answer(Number(party), path, body);
    if (this.says !== null) return new Response('{"detail":"so it is"}', { status: this.says });
    await atOnce.sleep(found?.delay ?? 60_000, never);
    if (!found?.status) throw new TypeError('NetworkError');
    return new Response(found.answer, { status: found.status });
  }

  /** Opens the page, and lets time pass. */
  async opens(ms: number): Promise<Deciding> {
    const servers = serversDigest(JSON.stringify(this.script.servers));
    const place = { decision: this.script.decision, servers, invitation: undefined };
    const session = new Deciding(place, 'http://p0.example', this.cupboard as never, atOnce);
    void session.open();
    await vi.advanceTimersByTimeAsync(ms);
    return session;
  }

  /** The same, and the person does what is written, until that is over. */
  async plays(ms = this.script.lasts - 1): Promise<Deciding> {
    const session = await this.opens(0);
    for (const { at, answers } of this.script.wishes)
      setTimeout(() => (answers === null ? session.accept() : session.answer(answers)), at);
    await vi.advanceTimersByTimeAsync(ms);
    return session;
  }
}

test.each(['visit', 'visit-troubles'])('the page sends what the scripts say: %s', async (name) => {
  const browser = new Browser(name);
  const session = await browser.plays();
  expect(browser.played.sent).toEqual(written(browser.script));

  expect([session.stage.at, session.view?.stage, session.doing]).toEqual(['open', 'closed', null]);
  expect([session.person, session.pending, session.complaint]).toEqual([0, null, null]);
  expect(session.outcome?.meanings).toEqual([{ counts: [1, 1] }]);
  expect(session.receipt?.signatures).toHaveLength(3);
  expect([session.alarms, session.unresolved]).toEqual([[], null]);
  expect(session.account?.known().map(({ id }) => id)).toEqual([browser.script.decision]);
  const { report } = readExamination(verifyDecisionArchive(session.archive()));
  expect(report?.outcome).toEqual(session.outcome);
  session.close();
});

test('what is done is shown as long as it is done', async () => {
  const browser = new Browser();
  const session = await browser.plays(650);
  expect([session.stage.at, session.person, session.doing]).toEqual(['open', 0, null]);
  expect(session.view?.people[0]?.part).toBe('invited');
  await vi.advanceTimersByTimeAsync(100);
  expect(session.doing).toBe('accepting');
  await vi.advanceTimersByTimeAsync(8_200);
  expect([session.doing, session.view?.people[0]?.part]).toEqual([null, 'accepted']);
  expect(session.residual?.after.length).toBe(1);
  await vi.advanceTimersByTimeAsync(100);
  expect([session.doing, session.answering]).toEqual(['answering', true]);
  session.close();
});

test('while the storage is full no answers leave, that is said, and they can be given later', async () => {
  const browser = new Browser();
  const session = await browser.plays(8_900);
  const before = browser.played.handedIn().length;
  browser.cupboard.full = true;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(browser.played.handedIn()).toHaveLength(before);
  expect(session.complaint?.text).toContain('storage is full');
  expect([session.stage.at, session.doing]).toEqual(['open', null]);

  browser.cupboard.full = false;
  await vi.advanceTimersByTimeAsync(3_000);
  session.answer([1]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(browser.played.handedIn().length).toBeGreaterThan(before);
  expect(session.complaint).toBe(null);
  session.close();

  const empty = new Browser();
  empty.cupboard.full = true;
  const failed = await empty.opens(2_000);
  expect(failed.stage).toMatchObject({ at: 'failed' });
});

test('answers that were on their way when the page was closed go on, as the same bytes', async () => {
  const browser = new Browser();
  const session = await browser.plays(8_900);
  const before = browser.played.handedIn().length;
  for (let ms = 0; browser.played.handedIn().length === before && ms < 1_000; ms++)
    await vi.advanceTimersByTimeAsync(1);
  session.close();
  const sent = browser.played.handedIn().slice(before);
  expect(sent).toHaveLength(1);
  browser.played.isOver = true;

  // Another browser's randomness would make another record.
  browser.script.seed.reverse().fill(7, 0, 9);
  const again = await browser.opens(3_000);
  expect(again.stage.at).toBe('open');
  const resumed = browser.played.handedIn().slice(before + 1);
  expect(resumed[0]).toEqual(sent[0]);
  again.close();
});

test('another history than this browser has seen is refused, and it is said that answers may have left', async () => {
  const browser = new Browser();
  (await browser.plays(12_000)).close();
  const memory = JSON.parse(browser.cupboard.getItem(MEMORY) ?? '') as {
    decisions: Record<string, { head: string }>;
  };
  const seen = memory.decisions[browser.script.decision];
  expect(seen).toBeDefined();
  if (seen) seen.head = 'ab'.repeat(32);
  browser.cupboard.setItem(MEMORY, JSON.stringify(memory));
  const session = await browser.opens(10_000);
  expect(session.stage).toMatchObject({ at: 'refused', sent: true });
  expect(session.stage).toHaveProperty('doubt.finding.kind');
});

test('a decision that nobody knows is told from servers that are away', async () => {
  const unknown = new Browser();
  unknown.says = 404;
  expect((await unknown.opens(1_000)).stage).toEqual({ at: 'unknown' });
  const away = new Browser();
  away.says = 503;
  expect((await away.opens(1_000)).stage).toMatchObject({ at: 'failed' });
});

test('a memory that cannot be read is not gone on with', async () => {
  const browser = new Browser();
  browser.cupboard.setItem(MEMORY, 'spoilt');
  const session = await browser.opens(2_000);
  expect(session.stage).toMatchObject({ at: 'failed' });
  expect(browser.cupboard.getItem(MEMORY)).toBe('spoilt');
});

test('everything is read anew, and that it holds is said to the others', async () => {
  const browser = new Browser();
  const session = await browser.plays();
  const before = browser.played.handedIn().length;
  let holds: boolean | null = null;
  void session.recheck().then((found) => (holds = found));
  expect(session.doing).toBe('rechecking');
  await vi.advanceTimersByTimeAsync(3_000);
  const said = browser.played.handedIn().slice(before);
  expect(said.length).toBeGreaterThan(0);
  expect(said.every(({ party }) => party === 0)).toBe(true);
  expect([session.stage.at, session.doing, holds]).toEqual(['open', 'rechecking', null]);
  session.close();
  await vi.advanceTimersByTimeAsync(0);
  expect(holds).toBe(true);
});

test('what cannot be read anew is no reason to accuse anybody, and nothing is said to the others', async () => {
  const browser = new Browser();
  const session = await browser.plays();
  const before = browser.played.handedIn().length;
  browser.says = 503;
  expect(await session.recheck()).toBe(false);
  expect([session.stage.at, session.doing, session.checked]).toEqual(['open', null, null]);
  expect(session.complaint).not.toBe(null);
  expect(browser.played.handedIn()).toHaveLength(before);
  session.close();
});
