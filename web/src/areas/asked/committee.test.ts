// A committee's members as the page hands long inputs in to them, and takes questions back.

import { beforeAll, expect, test } from 'vitest';

import { Problem } from '../../lib/servers/api';
import { DeviceKey } from '../../lib/page/cryptography';
import type { Clock } from '../../lib/page/clock';
import { loadForTest } from '../../test/world';
import { Committee, type Member } from './committee';

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

  constructor(private readonly body: Uint8Array) {}

  announce(_: string, announcement: string): Promise<string> {
    this.announced++;
    const { bytes } = JSON.parse(announcement) as { bytes: number };
    expect(bytes).toBe(this.body.length);
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
      },
    );
  }
}

test('what is short goes in one, what is long in pieces, of which it is told how far they are', async () => {
  const short = new Keeper(input(0));
  await new Whole([short]).handIn(id, input(1000), clock, never);
  expect([short.whole, short.pieces]).toEqual([1, []]);

  const bytes = 2 * PIECE + 5;
  const long = input(bytes);
  const keepers = [new Keeper(long.subarray(96)), new Keeper(long.subarray(96))];
  const told: number[][] = [[], []];
  await new Whole(keepers).handIn(id, long, clock, never, (member, part) =>
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
  const other = new Keeper(long.subarray(96));
  other.held = [...long.subarray(96, 96 + PIECE)];
  await new Whole([broken, other]).handIn(id, long, clock, never);
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
