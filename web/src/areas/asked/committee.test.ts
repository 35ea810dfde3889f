// A committee's members as the page hands long inputs in to them, and takes questions back.

import { beforeAll, expect, test } from 'vitest';

import { Problem } from '../../lib/servers/api';
import { DeviceKey } from '../../lib/page/cryptography';
import type { Clock } from '../../lib/page/clock';
import { loadForTest } from '../../test/world';
import { memory } from '../../test/memory';
import { Committee, keepFirstReport, keptReport, type Made, type Member } from './committee';

beforeAll(loadForTest);

const PIECE = 1 << 20;
const clock: Clock = { now: () => 0, sleep: () => Promise.resolve() };
const never = new AbortController().signal;
const id = '01'.repeat(32);

/** Key and signature, then a body of so many bytes. */
function input(bytes: number): Uint8Array {
  const whole = new Uint8Array(96 + bytes);
  whole.forEach((_, place) => (whole[place] = place % 251));
  return whole;
}

/** What three members are told of it first, each something else. */
function made(input: Uint8Array): Made {
  const told = (to: number) => JSON.stringify({ to, bytes: input.length - 96 });
  return { input, announced: [0, 1, 2].map(told) };
}

/** A member that keeps what it is given. */
class Keeper {
  held: number[] = [];
  announced = 0;
  whole = 0;
  pieces: [number, number][] = [];
  /** Breaks the line at the piece of this number. */
  breaks = -1;
  cancelled = 0;
  refuses: Error | null = null;
  /** What it shows of the phase, and what it has signed. */
  phase: unknown = { is: 'collecting' };
  signed: unknown = {};
  heard = 0;

  constructor(
    private readonly body: Uint8Array,
    private readonly number = 0,
  ) {}

  view(): Promise<string> {
    const members = [0, 1, 2].map((member) => ({ name: `m${member}`, stopped: 'I was told to' }));
    return Promise.resolve(JSON.stringify({ inputs: 2, phase: this.phase, members }));
  }

  statements(): Promise<string> {
    this.heard++;
    return Promise.resolve(JSON.stringify(this.signed));
  }

  announce(_: string, announcement: string): Promise<string> {
    this.announced++;
    const { to, bytes } = JSON.parse(announcement) as { to: number; bytes: number };
    expect([to, bytes]).toEqual([this.number, this.body.length]);
    if (this.held.length < bytes)
      return Promise.resolve(
        JSON.stringify({ held: { upload: '02'.repeat(32), bytes: this.held.length } }),
      );
    expect(this.held.every((byte, place) => byte === this.body[place])).toBe(true);
    return Promise.resolve(JSON.stringify({ receipt: { of: 'all' } }));
  }

  piece(_: string, upload: string, at: number, piece: Uint8Array): Promise<string> {
    expect([upload, at]).toEqual(['02'.repeat(32), this.held.length]);
    if (this.pieces.length === this.breaks) {
      this.breaks = -1;
      return Promise.reject(new TypeError('the line is broken'));
    }
    this.pieces.push([at, piece.length]);
    for (const byte of piece) this.held.push(byte);
    return Promise.resolve(JSON.stringify({ bytes: this.held.length }));
  }

  handIn(): Promise<string> {
    this.whole++;
    return Promise.resolve(JSON.stringify({ of: 'all' }));
  }

  cancel(_: string, order: string): Promise<string> {
    expect(order).toBe('cancel');
    this.cancelled++;
    return this.refuses ? Promise.reject(this.refuses) : Promise.resolve('');
  }
}

class Whole extends Committee {
  constructor(keepers: Keeper[]) {
    const members = keepers as unknown as Member[];
    const names = keepers.map((_, number) => `m${number}`);
    super(
      { name: 'test', names, members, raw: '' },
      {
        admits: () => true,
        isReceipt: (_, __, answer) => answer === '{"of":"all"}',
        order: () => 'close',
        cancellation: () => 'cancel',
        heard: (statements) => {
          const nothing = { cancelled: false, opened: [], stopped: [] };
          return JSON.stringify(Object.assign(nothing, ...statements.map((of) => JSON.parse(of))));
        },
      },
    );
  }
}

test('what is short goes in one, what is long in pieces, of which it is told how far they are', async () => {
  const short = new Keeper(input(0));
  await new Whole([short]).handIn(id, made(input(1000)), clock, never);
  expect([short.whole, short.pieces]).toEqual([1, []]);

  const bytes = 2 * PIECE + 5;
  const long = input(bytes);
  const keepers = [new Keeper(long.subarray(96)), new Keeper(long.subarray(96), 1)];
  const told: number[][] = [[], []];
  await new Whole(keepers).handIn(id, made(long), clock, never, (member, part) =>
    told[member]?.push(part),
  );
  for (const [member, keeper] of keepers.entries()) {
    expect(keeper.pieces).toEqual([
      [0, PIECE],
      [PIECE, PIECE],
      [2 * PIECE, 5],
    ]);
    expect([keeper.whole, keeper.announced]).toEqual([0, 2]);
    const parts = told[member] ?? [];
    expect(parts).toHaveLength(4);
    expect(parts.every((part, i) => i === 0 || part > (parts[i - 1] ?? 0))).toBe(true);
    expect(parts.at(-1)).toBe(1);
  }
});

test('a broken line costs a piece, and what is there is not sent again', async () => {
  const long = input(PIECE + 7);
  const broken = new Keeper(long.subarray(96));
  broken.breaks = 1;
  const other = new Keeper(long.subarray(96), 1);
  other.held = [...long.subarray(96, 96 + PIECE)];
  await new Whole([broken, other]).handIn(id, made(long), clock, never);
  expect(broken.pieces).toEqual([
    [0, PIECE],
    [PIECE, 7],
  ]);
  expect(other.pieces).toEqual([[PIECE, 7]]);
});

test('a question is taken back by one member, and a refusal says more than silence', async () => {
  const creator = DeviceKey.generate();
  const keepers = [0, 1, 2].map(() => new Keeper(input(0)));
  const [away, late, takes] = keepers as [Keeper, Keeper, Keeper];
  away.refuses = new TypeError('no connection');
  late.refuses = new Problem(409, 'it is too late');
  await new Whole(keepers).cancel(id, creator);
  expect(keepers.map(({ cancelled }) => cancelled)).toEqual([1, 1, 1]);
  takes.refuses = late.refuses;
  await expect(new Whole(keepers).cancel(id, creator)).rejects.toBe(late.refuses);
});

test('one member ends nothing by its own word, and blames nobody', async () => {
  const liars = [
    { is: 'sealing' },
    { is: 'computing' },
    { is: 'done' },
    { is: 'cancelled', opened: [1] },
    { is: 'stopped', why: 'm1 has lied' },
  ];
  for (const phase of liars) {
    const keepers = [0, 1, 2].map((number) => new Keeper(input(0), number));
    const [liar, ...honest] = keepers as [Keeper, Keeper, Keeper];
    const whole = new Whole(keepers);
    liar.phase = phase;
    const { view, cancelled, stopped } = await whole.standing(id);
    expect([view?.phase.is, cancelled, stopped]).toEqual(['collecting', null, null]);
    await whole.handIn(id, made(input(1000)), clock, never);
    expect(honest.map((keeper) => keeper.whole)).toEqual([1, 1]);
    // Nor does it have the others send all that they have signed again and again.
    for (let look = 0; look < 100; look++) await whole.standing(id);
    expect(honest[0]?.heard).toBeLessThan(10);
  }
});

test('what was taken back, and who stopped first, is what members have signed', async () => {
  const keepers = [0, 1, 2].map((number) => new Keeper(input(0), number));
  const [first, second] = keepers as [Keeper, Keeper];
  const whole = new Whole(keepers);
  for (const keeper of keepers) keeper.phase = { is: 'stopped', why: 'so it is' };
  expect(await whole.standing(id)).toMatchObject({ view: null, cancelled: null, stopped: null });
  second.signed = {
    stopped: [
      [0, 'm1 has stopped'],
      [1, 'no room'],
    ],
  };
  first.phase = { is: 'computing' };
  const stopped = await whole.standing(id);
  expect([stopped.view?.phase.is, stopped.stopped]).toEqual(['computing', ['m1', 'no room']]);
  second.phase = { is: 'cancelled', opened: [0, 1] };
  first.signed = { cancelled: true, opened: [2] };
  expect((await whole.standing(id)).cancelled).toEqual(['m2']);
});

test('of two tabs that answer at the same time both hand in the first answer', () => {
  const storage = memory();
  const report = (of: string) => ({ report: of, done: false });
  expect(keepFirstReport(storage, id, 'anyone', report('one'))).toEqual(report('one'));
  expect(keepFirstReport(storage, id, 'anyone', report('other'))).toEqual(report('one'));
  expect(keepFirstReport(storage, id, 'invited', report('other'))).toEqual(report('other'));
  expect(keptReport(storage, id, 'anyone')).toEqual(report('one'));
});
