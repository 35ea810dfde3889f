// One room as anybody looks at it, from the servers' words to what is shown.

import { beforeAll, expect, test } from 'vitest';

import { World, loadForTest } from '../test/world';
import { DeviceKey, HostLog, Outbox } from './cryptography';
import type { Deployment } from './deployment';
import { Viewing } from './viewing.svelte';

beforeAll(loadForTest);

const HOST = new Uint8Array(32).fill(7);

const documents = () => {
  const servers = [0, 1, 2].map((party) => ({ party, key: DeviceKey.generate().publicKey() }));
  const descriptor = {
    name: 'r', purpose: '', host: DeviceKey.fromSeed(HOST).publicKey(), admission: 'open', retention_days: null, engine: 'ruffle', mode: 'fair',
    payload: 256, capacity: 64, seconds: 6, minimum: 1, nonce: Array(16).fill(0),
  };
  return { servers: JSON.stringify({ session: '09'.repeat(32), servers }), descriptor: JSON.stringify(descriptor) };
};

/** A room that the servers of `world` serve. */
function deploymentAt(world: World): Deployment {
  const operators = world.servers.map((api, party) => ({ party, name: 'server', origin: '', api }));
  const pin = { room: '', servers: '' };
  return {
    ...documents(), pin, operators, name: 'r', purpose: '', hosted: true, members: false, retention: null,
    seconds: 6, minimum: 1, capacity: 64, limit: 254, robust: false, closed: false,
  };
}

/** What `follow` does lasts so many milliseconds. */
async function during(world: World, ms: number, follow: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
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
  }

  /** Reads the wall from its beginning. */
  readWall(signal: AbortSignal): Promise<void> {
    const reader = { outbox: new Outbox(), save: () => undefined, again: () => undefined };
    return this.followWall(this.deployment, this.world.statuses, reader, signal);
  }

  readActions(signal: AbortSignal): Promise<void> {
    return this.followActions(this.deployment, this.world.statuses, signal);
  }
}

test('the same forgery is told once of each server, whatever it is called and however often this page reads', async () => {
  const world = new World();
  for (const party of [1, 2]) world.servers[party]!.board = () => Promise.resolve(['forged']);
  for (const { party } of world.servers) world.statuses.take(party, { ...world.status({ number: 2, ms: 1_000, present: [] }), board_length: 1 });
  const viewing = new Looking(deploymentAt(world), world);
  await during(world, 1_000, (signal) => viewing.readActions(signal));
  // Once while looking on and once more while taking part.
  await during(world, 5_000, (signal) => viewing.readWall(signal));
  await during(world, 5_000, (signal) => viewing.readWall(signal));
  expect(viewing.alarms).toEqual([1, 2].map((party) => ({ party, server: 'server', reason: "the server's wall is malformed" })));
});

test('nothing of the wall is read before what the hosts did, from every server that answers', async () => {
  const world = new World();
  const deployment = deploymentAt(world);
  const viewing = new Looking(deployment, world);
  const moderate = new HostLog(deployment.servers, deployment.descriptor).act(DeviceKey.fromSeed(HOST), 1n, '{"moderate":{"on":true}}');
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
    return [JSON.parse(moderate)];
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

test('a server that never answers, or promises what it does not have, keeps nobody from reading', async () => {
  const world = new World();
  let asked = 0;
  for (const server of world.servers) server.board = () => Promise.resolve((asked++, []));
  const viewing = new Looking(deploymentAt(world), world);
  const status = { ...world.status({ number: 2, ms: 1_000, present: [] }), board_length: 1 };
  world.statuses.take(0, { ...status, actions: 1_000 });
  world.statuses.take(1, status);
  world.statuses.lose(2);
  await during(world, 1_000, (signal) => Promise.all([viewing.readActions(signal), viewing.readWall(signal)]));
  expect(viewing.informed).toBe(true);
  expect(asked).toBeGreaterThan(0);
});
