// One room as anybody looks at it, from the servers' words to what is shown.

import { beforeAll, expect, test } from 'vitest';

import { World, loadForTest } from '../../../test/world';
import type { Server } from '../../servers/api';
import { DeviceKey, HostLog, Outbox } from '../../page/cryptography';
import type { Deployment } from '../../servers/deployment';
import { NOBODY } from '../../servers/trust';
import { Viewing } from './viewing.svelte';

beforeAll(loadForTest);

const HOST = new Uint8Array(32).fill(7);

const documents = () => {
  const servers = [0, 1, 2].map((party) => ({ party, key: DeviceKey.generate().publicKey() }));
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
    servers: JSON.stringify({ session: '09'.repeat(32), servers }),
    descriptor: JSON.stringify(descriptor),
  };
};

/** A room that the servers of `world` serve. */
function deploymentAt(world: World): Deployment {
  const operators = world.servers.map((api, party) => ({ party, name: 'server', origin: '', api }));
  const pin = { room: '', servers: '' };
  return {
    ...documents(),
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
  };
}

/** The host's first action in its room: from now on the projector shows what was approved. */
function first({ servers, descriptor }: Deployment): unknown {
  return JSON.parse(
    new HostLog(servers, descriptor).act(DeviceKey.fromSeed(HOST), 1n, '{"moderate":{"on":true}}'),
  );
}

/** What `follow` does lasts so many milliseconds. */
async function during(
  world: World,
  ms: number,
  follow: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const stop = new AbortController();
  const following = follow(stop.signal);
  await world.clock.advance(ms);
  stop.abort();
  await following;
}

class Looking extends Viewing {
  constructor(
    readonly deployment: Deployment,
    private readonly world: World,
  ) {
    super(deployment.pin);
    this.hostLog = new HostLog(deployment.servers, deployment.descriptor);
    this.kept.keep = (kind, _, from, items) => {
      if (kind === 'actions') this.written.splice(from, items.length, ...items);
      return Promise.resolve();
    };
  }

  /** Reads the wall from its beginning. */
  readWall(signal: AbortSignal, outbox = new Outbox()): Promise<void> {
    const reader = { outbox, save: () => undefined, again: () => undefined };
    return this.followWall(this.deployment, this.world.statuses, reader, signal);
  }

  joined = false;
  private readonly written: unknown[] = [];

  /** What this device keeps of the hosts' actions. */
  onDevice(): unknown[] {
    return [...this.written];
  }

  protected override keeps(): boolean {
    return this.joined;
  }

  readActions(signal: AbortSignal): Promise<void> {
    return this.followActions(this.deployment, this.world.statuses, signal);
  }
}

test('the same forgery is told once of each server, whatever it is called and however often this page reads', async () => {
  const world = new World();
  for (const party of [1, 2]) world.servers[party]!.board = () => Promise.resolve(['forged']);
  for (const { party } of world.servers)
    world.statuses.take(party, {
      ...world.status({ number: 2, ms: 1_000, present: [] }),
      board_length: 1,
    });
  const viewing = new Looking(deploymentAt(world), world);
  await during(world, 1_000, (signal) => viewing.readActions(signal));
  // Once while looking on and once more while taking part.
  await during(world, 5_000, (signal) => viewing.readWall(signal));
  await during(world, 5_000, (signal) => viewing.readWall(signal));
  expect(viewing.alarms).toEqual(
    [1, 2].map((party) => ({ party, server: 'server', reason: "the server's wall is malformed" })),
  );
});

test('nothing of the wall is read before what the hosts did, from every server that answers', async () => {
  const world = new World();
  const deployment = deploymentAt(world);
  const viewing = new Looking(deployment, world);
  /** Whether it was known that hosts approve first, whenever a server was asked for its wall. */
  const known: boolean[] = [];
  for (const server of world.servers) {
    server.board = () => {
      known.push(viewing.log.moderated);
      return Promise.resolve([]);
    };
  }
  const slow = world.servers[2]!;
  slow.actions = async () => {
    await world.clock.sleep(3_000, new AbortController().signal);
    return [first(deployment)];
  };
  const status = { ...world.status({ number: 2, ms: 1_000, present: [] }), board_length: 1 };
  await during(world, 20_000, async (signal) => {
    const following = Promise.all([viewing.readActions(signal), viewing.readWall(signal)]);
    // Two servers have not heard of the action yet; the third one is asked last, and is slow.
    for (const party of [0, 1]) world.statuses.take(party, status);
    await world.clock.sleep(5_000, signal);
    expect([viewing.informed, known]).toEqual([false, []]);
    world.statuses.take(2, { ...status, actions: 1 });
    await world.clock.sleep(2_000, signal);
    expect([viewing.informed, known]).toEqual([false, []]);
    await world.clock.sleep(3_000, signal);
    expect(viewing.informed).toBe(true);
    await following;
  });
  expect(known.length).toBeGreaterThan(0);
  expect(known).not.toContain(false);
});

/**
 * Looks at a room of which the servers say so much of their boards and actions, until `signal`
 * aborts.
 */
function looking(
  world: World,
  viewing: Looking,
  status: (party: number) => { board_length: number; actions: number },
): (signal: AbortSignal) => Promise<unknown> {
  for (const { party } of world.servers) {
    world.statuses.take(party, {
      ...world.status({ number: 2, ms: 1_000, present: [] }),
      ...status(party),
    });
  }
  return (signal) => Promise.all([viewing.readActions(signal), viewing.readWall(signal)]);
}

test('a server that never answers, or promises what it does not have, keeps nobody from reading', async () => {
  const world = new World();
  let asked = 0;
  for (const server of world.servers) server.board = () => Promise.resolve((asked++, []));
  const viewing = new Looking(deploymentAt(world), world);
  await during(world, 12_000, async (signal) => {
    const following = looking(world, viewing, (party) => ({
      board_length: 1,
      actions: party === 0 ? 1_000 : 0,
    }))(signal);
    world.statuses.lose(2);
    await world.clock.sleep(9_000, signal);
    expect([viewing.informed, asked]).toEqual([false, 0]);
    await following;
  });
  expect(viewing.informed).toBe(true);
  expect(asked).toBeGreaterThan(0);
});

test('while two servers promise actions that cannot be read, nothing of the wall is shown, however long', async () => {
  const world = new World();
  let [asked, broken] = [0, true];
  const deployment = deploymentAt(world);
  for (const server of world.servers) {
    server.board = () => Promise.resolve((asked++, []));
    server.actions = () =>
      broken ? Promise.reject(new TypeError('network')) : Promise.resolve([first(deployment)]);
  }
  const viewing = new Looking(deployment, world);
  await during(world, 120_000, async (signal) => {
    const following = looking(world, viewing, (party) => ({
      board_length: 1,
      actions: party === 0 ? 0 : 1,
    }))(signal);
    await world.clock.sleep(60_000, signal);
    expect([viewing.informed, asked]).toEqual([false, 0]);
    broken = false;
    await following;
  });
  expect([viewing.informed, viewing.log.moderated]).toEqual([true, true]);
  expect(asked).toBeGreaterThan(0);
});

test('a server that gives one action at a time, and late, holds up nobody', async () => {
  const world = new World();
  const deployment = deploymentAt(world);
  const log = new HostLog(deployment.servers, deployment.descriptor);
  const actions = Array.from({ length: 100 }, (_, index): unknown => {
    const signed = log.act(
      DeviceKey.fromSeed(HOST),
      1n,
      JSON.stringify({ pin: { target: { epoch: 1, index }, pinned: true } }),
    );
    log.read(`[${signed}]`);
    return JSON.parse(signed);
  });
  const [late, ...prompt]: Server[] = world.servers;
  for (const server of prompt)
    server.actions = (_, from) => Promise.resolve(actions.slice(from, from + 64));
  late!.actions = async (_, from) => {
    await world.clock.sleep(14_000, new AbortController().signal);
    return actions.slice(from, from + 1);
  };
  const viewing = new Looking(deployment, world);
  await during(
    world,
    16_000,
    looking(world, viewing, () => ({ board_length: 0, actions: 100 })),
  );
  expect([viewing.log.length, viewing.informed, viewing.read]).toEqual([100, true, true]);
});

test('what the hosts did is kept from its beginning as soon as this device keeps anything', async () => {
  const world = new World();
  const deployment = deploymentAt(world);
  const log = new HostLog(deployment.servers, deployment.descriptor);
  const actions: unknown[] = [];
  const moderate = (on: boolean) => {
    const signed = log.act(DeviceKey.fromSeed(HOST), 1n, JSON.stringify({ moderate: { on } }));
    log.read(`[${signed}]`);
    actions.push(JSON.parse(signed));
  };
  moderate(true);
  const servers: Server[] = world.servers;
  for (const server of servers) server.actions = (_, from) => Promise.resolve(actions.slice(from));
  const viewing = new Looking(deployment, world);
  const look = () => looking(world, viewing, () => ({ board_length: 0, actions: actions.length }));
  await during(world, 1_000, look());
  expect(viewing.onDevice()).toEqual([]);
  viewing.joined = true;
  moderate(false);
  await during(world, 1_000, look());
  expect(viewing.onDevice()).toEqual(actions);
});

test('a server that is alone is waited for as long as it may yet answer, and anew when it comes back', async () => {
  const world = new World();
  const deployment = deploymentAt(world);
  const alone: Server = world.servers[0]!;
  let asked = 0;
  alone.actions = async () => {
    if (asked++ === 0) throw new TypeError('network');
    await world.clock.sleep(14_000, new AbortController().signal);
    return [first(deployment)];
  };
  const viewing = new Looking(deployment, world);
  const status = { ...world.status({ number: 2, ms: 1_000, present: [] }), actions: 1 };
  await during(world, 60_000, async (signal) => {
    const following = viewing.readActions(signal);
    for (const { party } of world.servers) world.statuses.lose(party);
    await world.clock.sleep(5_000, signal);
    // For a moment, too short for an answer; then it is back.
    world.statuses.take(0, status);
    await world.clock.sleep(500, signal);
    world.statuses.lose(0);
    await world.clock.sleep(20_000, signal);
    world.statuses.take(0, status);
    await world.clock.sleep(13_000, signal);
    expect(viewing.informed).toBe(false);
    await following;
  });
  expect([viewing.informed, viewing.log.moderated]).toEqual([true, true]);
});

test('of what a server shows, that which is right is kept, up to what is wrong', async () => {
  const world = new World();
  const deployment = deploymentAt(world);
  const right = first(deployment);
  const liar: Server = world.servers[0]!;
  liar.actions = () => Promise.resolve([right, right]);
  const viewing = new Looking(deployment, world);
  viewing.joined = true;
  await during(
    world,
    1_000,
    looking(world, viewing, (party) => ({ board_length: 0, actions: party === 0 ? 2 : 1 })),
  );
  expect(viewing.alarms.map(({ party }) => party)).toEqual([0]);
  expect(viewing.onDevice()).toEqual([right]);
});

test('a message that may have been read, as one server says, is not said again by itself', async () => {
  const after = async (doubting: number[]) => {
    const world = new World();
    const viewing = new Looking(deploymentAt(world), world);
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
      world.statuses.take(party, {
        ...world.status({ number: 5, ms: 1_000, present: [] }),
        last: { number: 4, outcome: 'failed', detail: '' },
        may_have_opened: doubting.includes(party) ? [4] : [],
      });
    world.statuses.lose(2);
    await during(world, 5_000, (signal) =>
      Promise.all([viewing.readActions(signal), viewing.readWall(signal, outbox)]),
    );
    return [outbox.undecided(), outbox.held()];
  };
  expect(await after([])).toEqual([undefined, undefined]);
  expect(await after([1])).toEqual([undefined, 4n]);
});
