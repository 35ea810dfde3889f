// A join link's servers are asked, as they answer by a script.

import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { t } from '../../i18n/common';
import { Played, atOnce, scriptOf, written, type CanvassScript } from '../../test/visits';
import { loadForTest } from '../../test/world';
import { JoinCanvass } from '../page/cryptography';
import type { Reply, Request } from '../servers/api';
import { LocalizedError } from '../servers/localized';
import { Canvass, canvassBy } from './canvass';

beforeAll(loadForTest);
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;
const names = ['a', 'b', 'c'];

test.each([
  ['join-look', 3],
  ['join-troubles', 0],
])('the page asks about join links as the scripts say: %s', async (name, shown) => {
  const script = scriptOf<CanvassScript>(name);
  vi.setSystemTime(script.start);
  const machine = new JoinCanvass(JSON.stringify(script.call), Uint8Array.from(script.seed));
  const played = new Played(script);
  const operators = names.map((name, party) => ({ name, api: played.server(party, atOnce) }));
  const done = canvassBy(machine, operators, atOnce, never);
  await vi.advanceTimersByTimeAsync(script.lasts - 1);
  expect(await done).toHaveLength(shown);
  expect(played.sent).toEqual(written(script));
});

const ID = '07'.repeat(16);

/** What is asked where all servers answer so. */
function world(reply: Reply, signal = never) {
  const sent: Request[] = [];
  const carry = (request: Request) => {
    sent.push(request);
    return Promise.resolve(reply);
  };
  const operators = names.map((name) => ({ name, api: { carry } }));
  return { sent, canvass: new Canvass(operators, atOnce, signal) };
}

test('what servers show is read, and what they are given is bytes', async () => {
  const info = '{"gathering":"AAE","word":"AAI"}';
  const { canvass } = world({ status: 200, body: info });
  expect(await canvass.show(ID)).toEqual(Array(3).fill({ gathering: 'AAE', word: 'AAI' }));
  const requests = world({ status: 200, body: '{"requests":["AAE"]}' });
  expect(await requests.canvass.requests(ID, 5n, 'ab'.repeat(64))).toEqual(['AAE', 'AAE', 'AAE']);
  const { sent, canvass: handing } = world({ status: 204, body: '' });
  await handing.take(ID, 'AAE');
  await handing.say(ID, 'AAI');
  const [first, , , , , last] = sent;
  expect(first).toMatchObject({ path: `gatherings/${ID}/requests`, body: 'AAE', bytes: true });
  expect(last).toMatchObject({ path: `gatherings/${ID}/word`, body: 'AAI', bytes: true });
  const kept = world({ status: 201, body: `{"id":"${ID}"}` });
  await kept.canvass.keep('AAE');
  expect(kept.sent.map(({ path }) => path)).toEqual(Array(3).fill('gatherings'));
});

test('what no server does is told, and who is away by its name', async () => {
  const { canvass } = world({ status: 404, body: '{"detail":"none"}' });
  await expect(canvass.show(ID)).rejects.toMatchObject({ status: 404, message: 'none' });
  const silent = world({ status: 0, body: '' });
  const told = silent.canvass.show(ID).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await told).toEqual(new LocalizedError(t.refusal.awayFrom('a')));
});

test('nothing more is asked once the page is left', async () => {
  const stopped = new AbortController();
  const { sent, canvass } = world({ status: 503, body: '' }, stopped.signal);
  const told = canvass.take(ID, 'AAE').catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(1_000);
  const asked = sent.length;
  stopped.abort();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await told).toBeInstanceOf(Error);
  expect(sent.length).toBe(asked);
});
