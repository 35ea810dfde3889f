// One room as anybody looks at it, from the servers' words to what is shown.

import { beforeAll, expect, test } from 'vitest';

import { World, loadForTest, statusOf } from '../../../test/world';
import { DeviceKey, HostLog, Outbox } from '../../page/cryptography';
import type { Deployment } from '../../servers/deployment';
import { NOBODY } from '../../servers/trust';
import { Viewing } from './viewing.svelte';

beforeAll(loadForTest);

const HOST = new Uint8Array(32).fill(7);

function documents() {
  const servers = [0, 1, 2].map((party) => ({
    party,
    name: '',
    url: '',
    key: DeviceKey.generate().publicKey(),
  }));
  const descriptor = {
    name: 'r',
    purpose: '',
    host: DeviceKey.fromSeed(HOST).publicKey(),
    admission: 'open',
    retention_days: null,
    engine: 'ruffle',
    mode: 'fair',
    payload: 256,
    capacity: 64,
    seconds: 6,
    minimum: 1,
    nonce: Array(16).fill(0),
  };
  return {
    servers: JSON.stringify({ you: 0, session: '09'.repeat(32), servers }),
    descriptor: JSON.stringify(descriptor),
  };
}

/** A room that the servers of `world` serve. */
function deploymentAt(world: World, shown: ReturnType<typeof documents>): Deployment {
  const operators = world.servers.map((api, party) => ({ party, name: 'server', origin: '', api }));
  const pin = { room: '', servers: '' };
  return {
    ...shown,
    pin,
    operators,
    trust: { ...NOBODY, believed: 2 },
    name: 'r',
    purpose: '',
    hosted: true,
    members: false,
    messages: false,
    retention: null,
    seconds: 6,
    minimum: 1,
    people: null,
    capacity: 64,
    limit: 254,
    robust: false,
    closed: false,
    contradicting: [],
  };
}

class Looking extends Viewing {
  joined = false;
  private readonly written: unknown[] = [];

  constructor(world: World, shown = documents()) {
    const deployment = deploymentAt(world, shown);
    super(deployment.pin);
    this.kept.keep = (kind, _, from, items) => {
      if (kind === 'actions') this.written.splice(from, items.length, ...items);
      return Promise.resolve();
    };
    this.follow(deployment, world.clock);
  }

  /** Reads the wall from its beginning. */
  readWall(outbox = new Outbox()): void {
    this.readAnew({ outbox, save: () => undefined, again: () => undefined });
  }

  /** What this device keeps of the hosts' actions. */
  onDevice(): unknown[] {
    return [...this.written];
  }

  protected override keeps(): boolean {
    return this.joined;
  }
}

/** Signs what the host does in the room. */
function hostOf({ servers, descriptor }: Pick<Deployment, 'servers' | 'descriptor'>) {
  const log = new HostLog(servers, descriptor);
  return (on: boolean): unknown => {
    const signed = log.act(DeviceKey.fromSeed(HOST), 1n, JSON.stringify({ moderate: { on } }));
    log.read(`[${signed}]`);
    return JSON.parse(signed);
  };
}

test('the same forgery is told once of each server, however often this page reads', async () => {
  const world = new World();
  for (const server of world.servers) server.says = { ...statusOf(2), board_length: 1 };
  for (const party of [1, 2]) world.servers[party]!.entries = ['forged'];
  const viewing = new Looking(world);
  await world.clock.advance(5_000);
  viewing.readWall();
  await world.clock.advance(5_000);
  const told = { server: 'server', reason: "the server's wall is malformed" };
  expect(viewing.alarms).toEqual([1, 2].map((party) => ({ party, ...told })));
  viewing.close();
});

test('what the hosts did is kept from its beginning as soon as this device keeps anything', async () => {
  const world = new World();
  const shown = documents();
  const act = hostOf(shown);
  const actions = [act(true)];
  const show = () => {
    for (const server of world.servers) {
      server.says = { ...statusOf(2), actions: actions.length };
      server.done = actions;
    }
  };
  show();
  const viewing = new Looking(world, shown);
  await world.clock.advance(3_000);
  expect([viewing.onDevice(), viewing.log.moderated]).toEqual([[], true]);
  viewing.joined = true;
  actions.push(act(false));
  show();
  await world.clock.advance(3_000);
  expect(viewing.onDevice()).toEqual(actions);
  expect([viewing.log.moderated, viewing.informed, viewing.read]).toEqual([false, true, true]);
  viewing.close();
});

test('a message that may have been read, as one server says, is not said again by itself', async () => {
  const after = async (doubting: number[]) => {
    const world = new World();
    const outbox = Outbox.restore(
      JSON.stringify({
        message: [104, 105],
        undecided: 4,
        latest: [4, 'Message'],
        over: null,
        ballots: {},
      }),
    );
    for (const party of [0, 1])
      world.servers[party]!.says = {
        ...statusOf(5),
        last: { number: 4, outcome: 'failed', detail: '' },
        may_have_opened: doubting.includes(party) ? [4] : [],
      };
    const viewing = new Looking(world);
    viewing.readWall(outbox);
    await world.clock.advance(5_000);
    viewing.close();
    return [outbox.undecided(), outbox.held()];
  };
  expect(await after([])).toEqual([undefined, undefined]);
  expect(await after([1])).toEqual([undefined, 4n]);
});
