import { beforeAll, expect, test } from 'vitest';

import { VirtualClock, loadForTest } from '../test/world';
import { Actor, type Deed } from './acting';
import { Problem } from './api';
import { DeviceKey, HostLog } from './cryptography';
import { LogBook } from './hostlog';

beforeAll(loadForTest);

const SERVERS = JSON.stringify({ session: '09'.repeat(32), servers: [] });

function hosted() {
  const key = DeviceKey.fromSeed(new Uint8Array(32).fill(7));
  const descriptor = JSON.stringify({
    name: 'r', purpose: '', host: key.publicKey(), admission: 'open', retention_days: null, engine: 'ruffle', mode: 'fair',
    payload: 256, capacity: 64, seconds: 6, minimum: 1, nonce: Array(16).fill(0),
  });
  return { key, log: () => new HostLog(SERVERS, descriptor) };
}

/** The server that puts actions in order, and one that only names it. */
class Scheduler {
  readonly actions_: unknown[] = [];
  /** Runs before an action is looked at. */
  before: () => void = () => undefined;
  /** Takes the action and then loses the connection. */
  deaf = 0;
  constructor(readonly truth: HostLog) {}

  async actions(_: string, from: number): Promise<unknown[]> {
    return this.actions_.slice(from);
  }

  async act(_: string, signed: string): Promise<void> {
    this.before();
    this.take(signed);
    if (this.deaf-- > 0) throw new TypeError('network');
  }

  take(signed: string): void {
    if ((JSON.parse(signed) as { action: { number: number } }).action.number !== this.actions_.length) throw new Problem(409, 'first');
    this.truth.read(`[${signed}]`);
    this.actions_.push(JSON.parse(signed));
  }
}

const bystander = {
  actions: () => Promise.resolve([]),
  act: () => Promise.reject(new Problem(421, 'ask the other one')),
};

const pin = (index: number): Deed => ({ pin: { target: { epoch: 1, index }, pinned: true } });
const headOf = (log: HostLog) => new LogBook().take(log.changes()).head;
const pinned = (log: HostLog) => new LogBook().take(log.changes()).marks.filter((marks) => marks.pinned).map(({ index }) => index);

test('when a co-host was first, the action is made anew behind it', async () => {
  const { key, log } = hosted();
  const scheduler = new Scheduler(log());
  const mine = log();
  let others = 3;
  scheduler.before = () => {
    if (others-- > 0) scheduler.take(scheduler.truth.act(key, 1n, JSON.stringify(pin(10 + others))));
  };
  const actor = new Actor('room', [bystander, scheduler], mine, key, new VirtualClock(), () => undefined);
  await Promise.all([actor.act(() => pin(1)), actor.act(() => pin(2))]);
  expect(pinned(mine)).toEqual([1, 2, 10, 11, 12]);
  expect(headOf(mine)).toBe(headOf(scheduler.truth));
});

test('an action whose acknowledgement was lost is not done twice', async () => {
  const { key, log } = hosted();
  const scheduler = new Scheduler(log());
  scheduler.deaf = 1;
  const mine = log();
  await new Actor('room', [scheduler, bystander], mine, key, new VirtualClock(), () => undefined).act(() => pin(1));
  expect(scheduler.actions_.length).toBe(1);
  expect(pinned(mine)).toEqual([1]);
});

test('a refusal is told and holds up nothing that comes after it', async () => {
  const { key, log } = hosted();
  const stranger = DeviceKey.fromSeed(new Uint8Array(32).fill(8));
  const scheduler = new Scheduler(log());
  const actor = new Actor('room', [scheduler], log(), stranger, new VirtualClock(), () => undefined);
  await expect(actor.act(() => pin(1))).rejects.toThrow('not a host');
  const own = new Actor('room', [scheduler], log(), key, new VirtualClock(), () => undefined);
  scheduler.before = () => {
    scheduler.before = () => undefined;
    throw new Problem(422, 'no such message');
  };
  await expect(own.act(() => pin(1))).rejects.toThrow('no such message');
  await own.act(() => pin(2));
  expect(pinned(scheduler.truth)).toEqual([2]);
});
