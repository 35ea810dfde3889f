import { beforeAll, expect, test } from 'vitest';

import { VirtualClock, loadForTest } from '../../test/world';
import { Actor, type Deed } from './acting';
import { Problem } from '../servers/api';
import { DeviceKey, HostLog } from '../page/cryptography';
import { LogBook } from './hostlog';

beforeAll(loadForTest);

const SERVERS = JSON.stringify({ session: '09'.repeat(32), servers: [] });

function hosted() {
  const key = DeviceKey.fromSeed(new Uint8Array(32).fill(7));
  const descriptor = JSON.stringify({
    name: 'r',
    purpose: '',
    host: key.publicKey(),
    admission: 'open',
    retention_days: null,
    engine: 'ruffle',
    mode: 'fair',
    payload: 256,
    capacity: 64,
    seconds: 6,
    minimum: 1,
    nonce: Array(16).fill(0),
  });
  return { key, log: () => new HostLog(SERVERS, descriptor) };
}

/** The server that puts actions in order, and one that only names it. */
class Scheduler {
  readonly actions_: unknown[] = [];
  /** Runs before an action is looked at. */
  before: () => void = () => undefined;
  /** Runs before the log is read. */
  reading: () => Promise<void> = () => Promise.resolve();
  /** Takes the action and then loses the connection. */
  deaf = 0;
  constructor(readonly truth: HostLog) {}

  async actions(_: string, from: number): Promise<unknown[]> {
    await this.reading();
    return this.actions_.slice(from);
  }

  async act(_: string, signed: string): Promise<void> {
    this.before();
    this.take(signed);
    if (this.deaf-- > 0) throw new TypeError('network');
  }

  take(signed: string): void {
    const action = JSON.parse(signed) as { action: { number: number } };
    if (JSON.stringify(this.actions_[action.action.number]) === JSON.stringify(action)) return;
    if (action.action.number !== this.actions_.length) throw new Problem(409, 'first');
    this.truth.read(`[${signed}]`);
    this.actions_.push(action);
  }
}

const bystander = {
  actions: () => Promise.resolve([]),
  act: () => Promise.reject(new Problem(421, 'ask the other one')),
};

const pin = (index: number): Deed => ({ pin: { target: { epoch: 1, index }, pinned: true } });
const headOf = (log: HostLog) => new LogBook().take(log.changes()).head;
const pinned = (log: HostLog) =>
  new LogBook()
    .take(log.changes())
    .marks.filter((marks) => marks.pinned)
    .map(({ index }) => index);

test('when a co-host was first, the action is made anew behind it', async () => {
  const { key, log } = hosted();
  const scheduler = new Scheduler(log());
  const mine = log();
  let others = 3;
  scheduler.before = () => {
    if (others-- > 0)
      scheduler.take(scheduler.truth.act(key, 1n, JSON.stringify(pin(10 + others))));
  };
  const actor = new Actor(
    'room',
    [bystander, scheduler],
    mine,
    key,
    new VirtualClock(),
    () => undefined,
  );
  await Promise.all([actor.act(() => pin(1)), actor.act(() => pin(2))]);
  expect(pinned(mine)).toEqual([1, 2, 10, 11, 12]);
  expect(headOf(mine)).toBe(headOf(scheduler.truth));
});

test('an action whose acknowledgement was lost is not done twice', async () => {
  const { key, log } = hosted();
  const scheduler = new Scheduler(log());
  scheduler.deaf = 1;
  const mine = log();
  await new Actor(
    'room',
    [scheduler, bystander],
    mine,
    key,
    new VirtualClock(),
    () => undefined,
  ).act(() => pin(1));
  expect(scheduler.actions_.length).toBe(1);
  expect(pinned(mine)).toEqual([1]);
});

/**
 * A network that breaks at the next reading of the log, so many times, each of which takes two
 * seconds.
 */
function outage(scheduler: Scheduler, clock: VirtualClock, times: number): void {
  scheduler.reading = async () => {
    if (times-- <= 0) return;
    await clock.advance(2000);
    throw new TypeError('network');
  };
}

test.each([1, 9])(
  'an action is not done twice if the log could not be read either, %i times',
  async (times) => {
    const { key, log } = hosted();
    const [scheduler, clock, mine] = [new Scheduler(log()), new VirtualClock(), log()];
    scheduler.deaf = Math.min(times, 3);
    outage(scheduler, clock, times);
    const done = new Actor('room', [scheduler, bystander], mine, key, clock, () => undefined).act(
      () => pin(1),
    );
    await clock.advance(20_000);
    await done;
    expect(scheduler.actions_.length).toBe(1);
    expect(pinned(mine)).toEqual([1]);
  },
);

test('an action that did not arrive is made anew when another one has its place', async () => {
  const { key, log } = hosted();
  const [scheduler, clock, mine] = [new Scheduler(log()), new VirtualClock(), log()];
  outage(scheduler, clock, 1);
  scheduler.before = () => {
    scheduler.before = () => undefined;
    scheduler.take(scheduler.truth.act(key, 1n, JSON.stringify(pin(10))));
    throw new TypeError('network');
  };
  let asked = 0;
  const deed = () => pin(++asked);
  const done = new Actor('room', [scheduler], mine, key, clock, () => undefined).act(deed);
  await clock.advance(20_000);
  await done;
  expect([asked, pinned(mine), headOf(mine)]).toEqual([2, [2, 10], headOf(scheduler.truth)]);
});

test('a refusal is told and holds up nothing that comes after it', async () => {
  const { key, log } = hosted();
  const stranger = DeviceKey.fromSeed(new Uint8Array(32).fill(8));
  const scheduler = new Scheduler(log());
  const actor = new Actor(
    'room',
    [scheduler],
    log(),
    stranger,
    new VirtualClock(),
    () => undefined,
  );
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
