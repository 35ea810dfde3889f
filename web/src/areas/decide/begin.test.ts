// A join link is made, at servers that answer or do not.

import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { Account } from '../../lib/decisions/account';
import type { Wish } from '../../lib/decisions/asking/draft';
import { Deployment, DeviceKey, JoinLink, serversDigest } from '../../lib/page/cryptography';
import { Problem, toBase64 } from '../../lib/servers/api';
import { memory } from '../../test/memory';
import { loadForTest } from '../../test/world';
import { gather } from './begin';

beforeAll(loadForTest);
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const ORIGIN = 'https://a.example';

const wish: Wish = {
  topic: 'question',
  question: ' Shall we? ',
  options: ['No', 'Yes'],
  dates: [''],
  needBe: false,
  rule: 'majority',
  enough: 1,
  tie: 'none',
  outputs: [],
  assumed: 0,
  acceptBy: new Date(Date.now() + 86_400_000).toISOString(),
  allNeeded: false,
  quorum: null,
  deadline: new Date(Date.now() + 172_800_000).toISOString(),
  threshold: 2,
};

/** The servers' list, as one of them gives it. */
function listOf(you: number): string {
  const servers = ['a', 'b', 'c'].map((name, party) => ({
    party,
    name,
    url: `https://${name}.example`,
    key: DeviceKey.fromSeed(new Uint8Array(32).fill(party + 1)).publicKey(),
  }));
  return JSON.stringify({ you, session: '09'.repeat(32), servers });
}

/** Has a join link made at servers that answer so; what they were given, and what was kept then. */
async function gathered(statuses: number[], change: Partial<Wish> = {}) {
  const given: { code: string | null; link: Uint8Array<ArrayBuffer>; kept: number }[] = [];
  const account = await Account.open(memory(), async (act) => act());
  vi.stubGlobal('fetch', async (url: string, { headers, body }: RequestInit) => {
    const party = 'abc'.indexOf(url.charAt(8));
    if (url.endsWith('/servers')) return new Response(listOf(party));
    const link = new Uint8Array(await (body as Blob).arrayBuffer());
    const code = new Headers(headers).get('authorization');
    given.push({ code, link, kept: account.links().length });
    const status = statuses[party] ?? 500;
    return new Response(status === 201 ? '{"id":"07"}' : '{"detail":"no"}', { status });
  });
  const plan = { wish, guests: [], policy: 'token' as const };
  const wished = { ...wish, ...change };
  const made = gather(wished, plan, account, 'secret', ORIGIN).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(30_000);
  return { made: await made, given, account };
}

test('a join link is kept before any server has it, and one server that takes it is enough', async () => {
  const { made, given, account } = await gathered([503, 201, 403]);
  // The first one is asked again.
  expect(given.length).toBeGreaterThan(3);
  for (const { code, kept } of given) expect([code, kept]).toEqual(['Bearer secret', 1]);
  const [link] = account.links();
  expect(made).toBe(link?.address);
  expect(JSON.parse(link?.plan ?? '')).toMatchObject({ wish: { question: ' Shall we? ' } });
  expect(link?.servers).toBe(serversDigest(listOf(0)));
  const deployment = new Deployment(listOf(0));
  for (const { link: bytes } of given) {
    const shown = JSON.stringify([{ gathering: toBase64(bytes) }]);
    const read = JoinLink.read(deployment, link?.id ?? '', shown);
    expect(JSON.parse(read.about())).toMatchObject({
      question: 'Shall we?',
      creator: account.key.publicKey(),
    });
  }
});

test('a join link that no server takes is not made, and the refusal is told', async () => {
  const { made } = await gathered([403, 403, 403]);
  expect(made).toBeInstanceOf(Problem);
  expect(made).toMatchObject({ status: 403, message: 'no' });
});

test('a join link of which no server would take the time is neither kept nor handed in', async () => {
  const acceptBy = new Date(Date.now() + 61 * 86_400_000).toISOString();
  const { made, given, account } = await gathered([201, 201, 201], { acceptBy });
  expect(made).toMatchObject({ status: 422, message: 'a join link lasts for at most 60 days' });
  expect([given, account.links()]).toEqual([[], []]);
});
