// A decision begins, at servers that answer by a script.

import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { Played, atOnce, scriptOf, written, type BeginningScript } from '../../test/visits';
import { loadForTest } from '../../test/world';
import { DecisionBeginning, Deployment, DeviceKey } from '../page/cryptography';
import { Problem, type Reply, type Request } from '../servers/api';
import { LocalizedError } from '../servers/localized';
import { beginBy } from './beginning';
import { DecisionServer } from './decisions';

beforeAll(loadForTest);
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function machineOf(script: BeginningScript): DecisionBeginning {
  vi.setSystemTime(script.start);
  const deployment = new Deployment(JSON.stringify(script.servers));
  const key = DeviceKey.fromSeed(Uint8Array.from(script.key));
  const draft = JSON.stringify(script.draft);
  return new DecisionBeginning(deployment, key, draft, Uint8Array.from(script.seed));
}

test.each(['begin', 'begin-troubles'])(
  'the page begins decisions as the scripts say: %s',
  async (name) => {
    const script = scriptOf<BeginningScript>(name);
    const machine = machineOf(script);
    const played = new Played(script);
    const servers = [0, 1, 2].map((party) => played.server(party, atOnce));
    const [keep, forget] = [vi.fn(() => Promise.resolve()), vi.fn(() => Promise.resolve())];
    const begun = beginBy(machine, servers, { keep, forget }, atOnce);
    await vi.advanceTimersByTimeAsync(script.lasts - 1);
    await begun;
    expect(played.sent).toEqual(written(script));
    expect([keep.mock.calls.length, forget.mock.calls.length]).toEqual([1, 0]);
  },
);

/**
 * What is kept, forgotten and thrown where the first server answers the record so; or where
 * nothing can be kept.
 */
async function ends(reply: Reply, full: Error | null = null) {
  const script = scriptOf<BeginningScript>('begin-troubles');
  const machine = machineOf(script);
  const played = new Played(script);
  const sent: string[] = [];
  const servers = [0, 1, 2].map((party) => ({
    carry: (request: Request, signal: AbortSignal) => {
      sent.push(request.path);
      if (request.path === 'decisions') return Promise.resolve(reply);
      if (request.path !== 'layers') return Promise.resolve({ status: 404, body: '' });
      return played.server(party, atOnce).carry(request, signal);
    },
  }));
  const told: string[] = [];
  const keeper = {
    keep: () => {
      told.push('keep');
      return full ? Promise.reject(full) : Promise.resolve();
    },
    forget: () => {
      told.push('forget');
      return Promise.resolve();
    },
  };
  const begun = beginBy(machine, servers, keeper, atOnce);
  const failed = begun.then(
    () => null,
    (error: unknown) => error,
  );
  await vi.advanceTimersByTimeAsync(60_000);
  return { told, sent, error: await failed };
}

test('what the first server refuses is forgotten, and what may have begun is kept', async () => {
  const refused = await ends({ status: 403, body: '{"detail":"not you"}' });
  expect(refused.error).toBeInstanceOf(Problem);
  expect(refused.told).toEqual(['keep', 'forget']);
  const lost = await ends({ status: 0, body: '' });
  expect(lost.error).toBeInstanceOf(LocalizedError);
  expect(lost.told).toEqual(['keep']);
  const other = await ends({ status: 201, body: JSON.stringify({ id: '07'.repeat(16) }) });
  expect(String(other.error)).toContain('another decision');
  expect(other.told).toEqual(['keep']);
});

test('what cannot be kept does not begin, and that is said', async () => {
  const full = new LocalizedError('full');
  const { error, sent } = await ends({ status: 201, body: '' }, full);
  expect(error).toBe(full);
  expect(sent).not.toContain('decisions');
});

test('the code is shown with the record, and with nothing else', async () => {
  const shown: [string, unknown][] = [];
  vi.stubGlobal('fetch', (url: string, { headers }: RequestInit) => {
    shown.push([url, (headers as Record<string, string>)['authorization']]);
    return Promise.resolve(new Response('{}', { status: 201 }));
  });
  const server = new DecisionServer('https://a.example', 'secret');
  const request = { body: 'AAAA', bytes: true, patience: 1_000 };
  const { signal } = new AbortController();
  for (const path of ['layers', 'decisions', 'shares'])
    await server.carry({ ...request, path }, signal);
  await new DecisionServer('https://a.example').carry({ ...request, path: 'decisions' }, signal);
  expect(shown.map(([, code]) => code)).toEqual([undefined, 'Bearer secret', undefined, undefined]);
});
