// A decision begins, at servers that answer by a script.

import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { t as common } from '../../i18n/common';
import { t } from '../../i18n/decide';
import { Played, atOnce, scriptOf, written, type BeginningScript } from '../../test/visits';
import { loadForTest } from '../../test/world';
import { DecisionBeginning, Deployment, DeviceKey } from '../page/cryptography';
import { Problem, type Reply, type Request, type Server } from '../servers/api';
import { LocalizedError } from '../servers/localized';
import { PerhapsBegun, beginBy, beginWithStock } from './beginning';
import { DecisionServer } from './decisions';

beforeAll(loadForTest);
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const named = (servers: Pick<Server, 'carry'>[]) =>
  servers.map((api, party) => ({ name: 'abc'.charAt(party), api }));

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
    const operators = named([0, 1, 2].map((party) => played.server(party, atOnce)));
    const [keep, forget] = [vi.fn(() => Promise.resolve()), vi.fn(() => Promise.resolve())];
    const stocked = vi.fn();
    const begun = beginBy(machine, operators, { keep, forget }, atOnce, stocked);
    await vi.advanceTimersByTimeAsync(script.lasts - 1);
    await begun;
    expect(played.sent).toEqual(written(script));
    expect([keep.mock.calls.length, forget.mock.calls.length]).toEqual([1, 0]);
    // The first one decides, too.
    expect(stocked.mock.calls.length).toBe(name === 'begin' ? 1 : 0);
  },
);

/**
 * What is kept, forgotten and thrown where the first server answers the record so; or where
 * nothing can be kept.
 */
async function ends(reply: Reply, full: Error | null = null, layer: Reply | null = null) {
  const script = scriptOf<BeginningScript>('begin-troubles');
  const machine = machineOf(script);
  const played = new Played(script);
  const sent: string[] = [];
  const servers = [0, 1, 2].map((party) => ({
    carry: (request: Request, signal: AbortSignal) => {
      sent.push(request.path);
      if (request.path === 'decisions') return Promise.resolve(reply);
      if (request.path !== 'layers') return Promise.resolve({ status: 404, body: '' });
      if (party === 1 && layer) return Promise.resolve(layer);
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
  const begun = beginBy(machine, named(servers), keeper, atOnce);
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
  const whys: unknown[] = [];
  for (const reply of [
    { status: 0, body: '' },
    { status: 201, body: JSON.stringify({ id: '07'.repeat(16) }) },
    { status: 503, body: '{"detail":"busy"}' },
  ]) {
    const { error, told } = await ends(reply);
    expect(error).toBeInstanceOf(PerhapsBegun);
    whys.push((error as PerhapsBegun).why);
    expect(told).toEqual(['keep']);
  }
  const [lost, other, busy] = whys;
  expect(lost).toEqual(new LocalizedError(common.refusal.awayFrom('a')));
  expect(other).toEqual(new LocalizedError(t.notBegun.altered));
  expect(busy).toMatchObject({ status: 503 });
});

test('an operator whose layer is not its own is named', async () => {
  const layer = { status: 200, body: '{"party":1,"layer":""}' };
  const { error, told } = await ends({ status: 201, body: '' }, null, layer);
  expect(error).toEqual(new LocalizedError(t.notBegun.layer('b')));
  expect(told).toEqual([]);
});

test('other tabs are kept from the stock until it is done with, and nobody waits for them', async () => {
  const did: string[] = [];
  const request = async (name: string, options: object, act: () => Promise<unknown>) => {
    did.push(`${name} ${JSON.stringify(options)}`);
    await act();
    did.push('released');
  };
  vi.stubGlobal('navigator', { locks: { request } });
  const begun = beginWithStock(async (stocked) => {
    did.push('stocked');
    stocked();
    await atOnce.sleep(1_000, new AbortController().signal);
    did.push('begun');
  });
  await vi.advanceTimersByTimeAsync(2_000);
  await begun;
  const taken = 'ostrakon/stock {"ifAvailable":true}';
  expect(did).toEqual([taken, 'stocked', 'released', 'begun']);
  await expect(beginWithStock(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(did.slice(4)).toEqual([taken, 'released']);
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
