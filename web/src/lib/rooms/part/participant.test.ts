import { beforeAll, beforeEach, afterEach, expect, test } from 'vitest';

import { World, loadForTest, readableDevice, settled } from '../../../test/world';
import { Problem } from '../../servers/api';
import { StorageFull } from './outbox';
import { Participant, type Part } from './participant';

let world: World;
let stop: AbortController;
let path: Part[];

beforeAll(loadForTest);

beforeEach(() => {
  world = new World();
  stop = new AbortController();
  path = [];
});

afterEach(() => stop.abort());

function start(
  say: (epoch: number) => string | null = () => 'cover',
  chance = 0.5,
  before?: number,
): void {
  const { clock, servers, statuses } = world;
  const moved = (part: Part) => path.push(part);
  const device = readableDevice(say);
  const random = () => chance;
  const participant = new Participant({
    room: 'room',
    servers,
    statuses,
    device,
    clock,
    seconds: 60,
    before,
    random,
    moved,
  });
  void participant.run(stop.signal);
}

const bodies = (epoch: number) =>
  world.submitted.filter((one) => one.epoch === epoch).map((one) => one.body);

test('hands the same bytes to all servers once per epoch, with something to say or not', async () => {
  start((epoch) => (epoch === 2 ? 'hello' : 'cover'));
  world.collect(1, 10_000);
  await world.clock.advance(10_000);
  world.collect(2, 10_000);
  await world.clock.advance(10_000);
  world.collect(3, 10_000);
  await world.clock.advance(5_000);
  expect(bodies(1)).toEqual(Array(3).fill('cover slot 3 from 012'));
  expect(bodies(2)).toEqual(Array(3).fill('hello slot 3 from 012'));
  expect(path.map((part) => part.at).slice(0, 4)).toEqual([
    'looking',
    'waiting',
    'placed',
    'handed-in',
  ]);
});

test('while nothing can be written down nothing is handed in, no server is left for it, and then it goes on', async () => {
  let full = true;
  start(() => {
    if (full) throw new StorageFull('full');
    return 'hello';
  });
  world.collect(1, 10_000);
  await world.clock.advance(30_000);
  expect(bodies(1)).toEqual([]);
  world.collect(2, 10_000);
  await world.clock.advance(9_000);
  full = false;
  await world.clock.advance(1_500);
  expect(bodies(2)).toEqual(Array(3).fill('hello slot 3 from 012'));
  expect(new Set(world.greeted.map(({ party }) => party)).size).toBe(1);
});

test('the moment of the submission does not depend on what is said, and leaves time before the sealing', async () => {
  const moments: number[] = [];
  for (const words of ['cover', 'hello']) {
    world = new World();
    start(() => words, 0.5);
    const opened = world.clock.now();
    world.collect(1, 10_000);
    await world.clock.advance(9_900);
    moments.push((world.submitted[0]?.at ?? 0) - opened);
    stop.abort();
    stop = new AbortController();
  }
  expect(moments[0]).toBe(moments[1]);
  expect(moments[0]).toBeGreaterThan(5_000);
  expect(moments[0]).toBeLessThanOrEqual(8_500);
});

test('what is written while the epoch collects still comes along', async () => {
  let words = 'cover';
  start(() => words);
  world.collect(1, 10_000);
  await world.clock.advance(4_000);
  words = 'late thought';
  await world.clock.advance(6_000);
  expect(bodies(1)[0]).toBe('late thought slot 3 from 012');
});

test('is present at the emptiest server and keeps saying so', async () => {
  start();
  world.collect(1, 60_000, [4, 2, 9]);
  await world.clock.advance(25_000);
  expect(world.greeted.map((one) => one.party)).toEqual([1, 1, 1]);
});

test('comes back to where it was, if that server still answers', async () => {
  start(undefined, undefined, 2);
  world.collect(1, 60_000, [0, 1, 5]);
  await world.clock.advance(1_000);
  expect(world.greeted.map((one) => one.party)).toEqual([2]);
  stop.abort();
  stop = new AbortController();
  world.servers[2]!.away = true;
  start(undefined, undefined, 2);
  await world.clock.advance(1_000);
  expect(world.greeted.at(-1)?.party).toBe(0);
});

test('a server that is away is done without, and gets the submission when it is back', async () => {
  world.servers[2]!.away = true;
  start();
  world.collect(1, 10_000);
  await world.clock.advance(7_300);
  world.servers[2]!.away = false;
  await world.clock.advance(2_000);
  expect(bodies(1)).toEqual(Array(3).fill('cover slot 3 from 01'));
});

test("with only one server's material nothing is handed in", async () => {
  world.servers[1]!.away = true;
  world.servers[2]!.away = true;
  start();
  world.collect(1, 10_000, [1, 1, 1]);
  for (const party of [1, 2]) world.statuses.lose(party);
  await world.clock.advance(12_000);
  expect(world.submitted).toEqual([]);
});

test('a server that names another slot does not confuse the others', async () => {
  world.slots = [3, 3, 7];
  start();
  world.collect(1, 10_000, [1, 5, 5]);
  await world.clock.advance(10_000);
  expect(new Set(bodies(1))).toEqual(new Set(['cover slot 3 from 01']));
});

test('servers that name different slots are asked until they agree', async () => {
  world.slots = [6, 4, 5];
  start();
  world.collect(1, 10_000);
  await world.clock.advance(7_400);
  expect(world.submitted).toEqual([]);
  world.slots = [4, 4, 4];
  await world.clock.advance(2_000);
  expect(bodies(1)).toEqual(Array(3).fill('cover slot 4 from 012'));
});

test('who gets no slot goes to another server in time, whatever numbers the servers tell', async () => {
  world.slots = [new Problem(404, 'no slot yet'), 4, 4];
  start();
  world.collect(1, 60_000, [0, 5, 5]);
  await world.clock.advance(10_000);
  expect(world.greeted[0]?.party).toBe(0);
  expect(world.greeted.at(-1)?.party).not.toBe(0);
  expect(path.at(-1)?.at).toBe('placed');
  await world.clock.advance(50_000);
  expect(bodies(1)).toHaveLength(3);
});

test('who is kept waiting at one server after another comes back to none of them', async () => {
  const none = new Problem(404, 'no slot yet');
  world.slots = [none, none, 4];
  start();
  world.collect(1, 60_000, [0, 1, 5]);
  await world.clock.advance(15_000);
  expect([...new Set(world.greeted.map(({ party }) => party))]).toEqual([0, 1, 2]);
  expect(path.at(-1)?.at).toBe('placed');
});

test('who came just before the sealing is not driven away', async () => {
  world.slots = [404, 404, 404].map((status) => new Problem(status, 'no slot yet'));
  start();
  world.collect(1, 1_000, [0, 5, 5]);
  await world.clock.advance(1_000);
  world.slots = [4, 4, 4];
  world.collect(2, 8_000, [0, 5, 5]);
  await world.clock.advance(8_000);
  expect(bodies(2)).toHaveLength(3);
  expect(world.greeted.every((one) => one.party === 0)).toBe(true);
});

test.each([
  [0.2, [2, 0, 0], 'too-few', true],
  [0.9, [2, 0, 0], 'too-few', false],
  [0.2, [2, 1, 1], 'too-few', false],
  [0.2, [2, 0, 0], 'published', false],
])(
  'with chance %d, %j present and the last epoch %s, goes elsewhere: %s',
  async (chance, present, outcome, goes) => {
    world.slots = [3, 3, 3];
    start(() => 'cover', chance);
    world.collect(1, 8_000, [0, 5, 5]);
    await world.clock.advance(8_000);
    world.collect(2, 8_000, present, { number: 1, outcome, detail: '' });
    await world.clock.advance(4_000);
    expect(world.greeted.some((one) => one.party !== 0)).toBe(goes);
  },
);

test("waits for all servers' counts before it chooses, but not for long", async () => {
  start();
  const say = (party: number, present: number[]) =>
    world.statuses.take(party, world.status({ number: 1, ms: 60_000, present }));
  say(0, [7, 0, 0]);
  await world.clock.advance(1_000);
  expect(world.greeted).toEqual([]);
  say(2, [0, 0, 1]);
  await world.clock.advance(1_000);
  expect(world.greeted.map((one) => one.party)).toEqual([2]);
});

test("a home whose description of the epoch fits nobody's material is left", async () => {
  let fits = false;
  start(() => {
    if (!fits) throw new Error('the masks are not known from two sides');
    return 'cover';
  });
  world.collect(1, 8_000, [0, 5, 5]);
  await world.clock.advance(8_000);
  expect(world.submitted).toEqual([]);
  fits = true;
  world.collect(2, 8_000, [0, 5, 5]);
  await world.clock.advance(8_000);
  expect(world.greeted.at(-1)?.party).not.toBe(0);
  expect(bodies(2)).toHaveLength(3);
});

test('a home that stops answering is left', async () => {
  start();
  world.collect(1, 120_000, [0, 5, 5]);
  await world.clock.advance(5_000);
  world.servers[0]!.away = true;
  world.statuses.lose(0);
  await world.clock.advance(40_000);
  expect(world.greeted.at(-1)?.party).not.toBe(0);
});

test('an epoch that is over for the device is passed over', async () => {
  start((epoch) => (epoch === 1 ? null : 'cover'));
  world.collect(1, 5_000);
  await world.clock.advance(5_000);
  world.collect(2, 5_000);
  await world.clock.advance(5_000);
  expect(bodies(1)).toEqual([]);
  expect(bodies(2)).toHaveLength(3);
});

test('nothing more is sent after leaving', async () => {
  start();
  world.collect(1, 10_000);
  await world.clock.advance(1_000);
  stop.abort();
  const greeted = world.greeted.length;
  await world.clock.advance(30_000);
  await settled();
  expect(world.submitted).toEqual([]);
  expect(world.greeted).toHaveLength(greeted);
});

test('a server that names an epoch nobody else knows of does not keep whoever believes it', async () => {
  start((epoch) => (epoch === 1 ? 'hello' : null));
  const say = (party: number, number: number, present: number[]) =>
    world.statuses.take(party, world.status({ number, ms: 10_000, present }));
  for (const server of world.servers.slice(1)) {
    const { issue } = server;
    server.issue = (_room, epoch) =>
      epoch === 1 ? issue('room', epoch, '') : Promise.reject(new Problem(404, 'no such epoch'));
  }
  say(0, 1_000, [0, 5, 5]);
  for (const party of [1, 2]) say(party, 1, [5, 5, 5]);
  await world.clock.advance(5_000);
  expect(world.greeted.at(-1)?.party).toBe(0);
  await world.clock.advance(25_000);
  for (const party of [1, 2]) say(party, 1, [5, 5, 5]);
  await world.clock.advance(10_000);
  expect(world.greeted.at(-1)?.party).not.toBe(0);
  expect(bodies(1)).toContain('hello slot 3 from 012');
});

test('a server that stays in an epoch which the others have left is left as well', async () => {
  start();
  world.collect(1, 10_000, [0, 5, 5]);
  await world.clock.advance(10_000);
  expect(world.greeted.at(-1)?.party).toBe(0);
  for (const party of [1, 2])
    world.statuses.take(party, world.status({ number: 2, ms: 60_000, present: [5, 5, 5] }));
  await world.clock.advance(25_000);
  expect(world.greeted.at(-1)?.party).not.toBe(0);
  expect(bodies(1)).toHaveLength(3);
});

test('an epoch that is held open for company keeps those who wait in it', async () => {
  start();
  world.collect(1, 10_000, [0, 5, 5]);
  await world.clock.advance(120_000);
  expect(new Set(world.greeted.map((one) => one.party))).toEqual(new Set([0]));
  expect(bodies(1)).toHaveLength(3);
});

test('whoever was offline at the moment of handing in goes on trying until the epoch is over', async () => {
  start();
  world.collect(1, 10_000);
  await world.clock.advance(6_000);
  for (const server of world.servers) server.away = true;
  await world.clock.advance(30_000);
  expect(path.some((part) => part.at === 'handed-in')).toBe(false);
  for (const server of world.servers) server.away = false;
  await world.clock.advance(1_000);
  expect(bodies(1)).toHaveLength(3);
  expect(path.at(-1)?.at).toBe('handed-in');
});

test('it is handed in when two servers have taken it, not before', async () => {
  start();
  world.collect(1, 10_000);
  await world.clock.advance(6_000);
  for (const party of [1, 2]) world.servers[party]!.away = true;
  await world.clock.advance(7_000);
  expect(bodies(1)).toHaveLength(1);
  expect(path.at(-1)?.at).toBe('placed');
  world.servers[2]!.away = false;
  await world.clock.advance(1_000);
  expect(path.at(-1)?.at).toBe('handed-in');
});

test('who gets no place where many are goes at once where there are fewer', async () => {
  world.slots = [new Problem(404, 'no slot yet'), 4, 4];
  start();
  world.collect(1, 60_000, [0, 5, 5]);
  await world.clock.advance(500);
  for (const server of world.servers)
    server.says = world.status({ number: 1, ms: 59_000, present: [5, 2, 1] });
  world.slots = [4, 4, 4];
  world.servers[0]!.issue = () => Promise.reject(new Problem(404, 'no slot yet'));
  await world.clock.advance(3_000);
  expect(world.greeted.map(({ party }) => party)).toEqual([0, 2]);
});

test('whoever stood still for longer than a server remembers stays at its home, and takes part anew', async () => {
  start();
  world.collect(1, 10_000, [0, 5, 5]);
  await world.clock.advance(5_000);
  expect(path.at(-1)?.at).toBe('placed');
  await world.clock.skip(60_000);
  await world.clock.advance(3_000);
  expect(bodies(1)).toHaveLength(3);
  world.collect(2, 10_000, [0, 5, 5]);
  await world.clock.advance(10_000);
  expect(bodies(2)).toHaveLength(3);
  const later = world.greeted.filter(({ at }) => at > world.clock.now() - 14_000);
  expect(later.length).toBeGreaterThan(0);
  expect(new Set(world.greeted.map(({ party }) => party))).toEqual(new Set([0]));
});

test('whoever stood still while it waited for a place has not waited in vain', async () => {
  world.slots = [new Problem(404, 'no slot yet'), 4, 4];
  start();
  world.collect(1, 120_000, [0, 5, 5]);
  await world.clock.advance(2_000);
  await world.clock.skip(40_000);
  world.slots = [4, 4, 4];
  await world.clock.advance(2_000);
  expect(path.at(-1)?.at).toBe('placed');
  expect(new Set(world.greeted.map(({ party }) => party))).toEqual(new Set([0]));
});

test('a home that does not answer is tried again soon, and left', async () => {
  start();
  world.collect(1, 120_000, [0, 5, 5]);
  await world.clock.advance(5_000);
  world.servers[0]!.away = true;
  await world.clock.advance(11_000);
  expect(world.greeted.at(-1)?.party).not.toBe(0);
});
