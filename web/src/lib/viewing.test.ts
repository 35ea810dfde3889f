// One room as anybody looks at it, from the servers' words to what is shown.

import { beforeAll, expect, test } from 'vitest';

import { World, loadForTest } from '../test/world';
import { DeviceKey, HostLog, Outbox } from './cryptography';
import type { Deployment } from './deployment';
import { Viewing } from './viewing.svelte';

beforeAll(loadForTest);

const documents = () => {
  const servers = [0, 1, 2].map((party) => ({ party, key: DeviceKey.generate().publicKey() }));
  const descriptor = {
    name: 'r', purpose: '', host: null, admission: 'open', retention_days: null, engine: 'ruffle', mode: 'fair',
    payload: 256, capacity: 64, seconds: 6, minimum: 1, nonce: Array(16).fill(0),
  };
  return { servers: JSON.stringify({ session: '09'.repeat(32), servers }), descriptor: JSON.stringify(descriptor) };
};

/** Reads the wall from its beginning, as once while looking on and once more while taking part. */
class Twice extends Viewing {
  async read(deployment: Deployment, world: World): Promise<void> {
    this.hostLog = new HostLog(deployment.servers, deployment.descriptor);
    for (let times = 0; times < 2; times++) {
      const stop = new AbortController();
      const reader = { outbox: new Outbox(), save: () => undefined, again: () => undefined };
      const following = this.followWall(deployment, world.statuses, reader, stop.signal);
      await world.clock.advance(5_000);
      stop.abort();
      await following;
    }
  }
}

test('the same forgery is told once of each server, whatever it is called and however often this page reads', async () => {
  const world = new World();
  for (const party of [1, 2]) world.servers[party]!.board = () => Promise.resolve(['forged']);
  const operators = world.servers.map((api, party) => ({ party, name: 'server', origin: '', api }));
  const { servers, descriptor } = documents();
  const pin = { room: '', servers: '' };
  const deployment: Deployment = {
    pin, operators, servers, descriptor, name: 'r', purpose: '', hosted: false, members: false, retention: null,
    seconds: 6, minimum: 1, capacity: 64, limit: 254, robust: false, closed: false,
  };
  for (const { party } of operators) world.statuses.take(party, { ...world.status({ number: 2, ms: 1_000, present: [] }), board_length: 1 });
  const viewing = new Twice(pin);
  await viewing.read(deployment, world);
  expect(viewing.alarms).toEqual([1, 2].map((party) => ({ party, server: 'server', reason: "the server's wall is malformed" })));
});
