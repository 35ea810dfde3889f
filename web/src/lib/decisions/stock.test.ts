import { beforeAll, expect, test } from 'vitest';

import { VirtualClock, loadForTest } from '../../test/world';
import { Deployment, DeviceKey, KeyStock } from '../page/cryptography';
import type { Reply, Request } from '../servers/api';
import { Problem } from '../servers/api';
import { LocalizedError } from '../servers/localized';
import { fill } from './stock';

beforeAll(loadForTest);

/** Three servers, of which each answers everything so, and a device that fills its stock there. */
function filling(reply: Reply, most?: number) {
  const asked: string[] = [];
  const carry = ({ path }: Request): Promise<Reply> => {
    asked.push(path);
    return Promise.resolve(reply);
  };
  const keys = [1, 2, 3].map((seed) => DeviceKey.fromSeed(new Uint8Array(32).fill(seed)));
  const servers = keys.map((key, party) => ({ party, name: '', url: '', key: key.publicKey() }));
  const deployment = new Deployment(JSON.stringify({ you: 0, session: '09'.repeat(32), servers }));
  const machine = new KeyStock(deployment, keys[0] as DeviceKey, most, new Uint8Array(32));
  const [clock, stop] = [new VirtualClock(), new AbortController()];
  const filled = fill(machine, [{ carry }, { carry }, { carry }], clock, stop.signal);
  return { asked, clock, stop, filled };
}

test('a stock that lacks nothing, or not more than is asked for, is left alone', async () => {
  for (const [stock, most] of [[8], [3, 1]] as const) {
    const body = JSON.stringify({ stock, wanted: 8 });
    const { asked, filled } = filling({ status: 200, body }, most);
    expect(await filled).toBe(0);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatch(/^accounts\/[0-9a-f]{64}\?time=1000&signature=[0-9a-f]{128}$/);
  }
});

test('why it is not filled is said as servers say it', async () => {
  const refused = filling({ status: 422, body: '{"detail":"not you"}' }).filled;
  await expect(refused).rejects.toThrow('not you');
  await expect(refused).rejects.toBeInstanceOf(Problem);
  const { clock, filled } = filling({ status: 0, body: '' });
  const away = expect(filled).rejects.toBeInstanceOf(LocalizedError);
  await clock.advance(20_000);
  await away;
});

test('a page that is closed stops filling', async () => {
  const { asked, clock, filled, stop } = filling({ status: 503, body: '' });
  await clock.advance(100);
  stop.abort();
  expect(await filled).toBe(0);
  const before = asked.length;
  await clock.advance(20_000);
  expect(asked).toHaveLength(before);
});
