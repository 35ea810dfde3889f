// A room without a network: virtual time, and servers that behave as they are told.

import { readFileSync } from 'node:fs';

import {
  Problem,
  type Server,
  type ServerList,
  type RoomInfo,
  type Status,
} from '../lib/servers/api';
import type { Clock } from '../lib/page/clock';
import type { Device } from '../lib/rooms/part/participant';
import { Statuses } from '../lib/rooms/seen/statuses';
import { initSync } from '../wasm/ostrakon_wasm';

/** Loads the cryptography, as it was built for the browser. */
export function loadForTest(): void {
  initSync({ module: readFileSync(new URL('../wasm/ostrakon_wasm_bg.wasm', import.meta.url)) });
}

/** Time that passes only when {@link VirtualClock.advance} is called. */
export class VirtualClock implements Clock {
  private time = 1_000_000;
  private sleepers: { until: number; wake: () => void }[] = [];

  now(): number {
    return this.time;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const wake = () => {
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.sleepers.push({ until: this.time + ms, wake });
      signal.addEventListener('abort', wake);
    });
  }

  /** Lets `ms` pass at once, as for a device that stands still: all that is due wakes together. */
  async skip(ms: number): Promise<void> {
    await settled();
    this.time += ms - 100;
    await this.advance(100);
  }

  /** Lets `ms` pass in small steps; everything that wakes runs as far as it can. */
  async advance(ms: number): Promise<void> {
    await settled();
    for (const end = this.time + ms; this.time < end;) {
      this.time = Math.min(end, this.time + 100);
      const due = this.sleepers.filter((sleeper) => sleeper.until <= this.time);
      this.sleepers = this.sleepers.filter((sleeper) => sleeper.until > this.time);
      for (const sleeper of due) sleeper.wake();
      await settled();
    }
  }
}

/** Lets everything that is ready run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What reached a server. */
export interface Submitted {
  party: number;
  epoch: number;
  slot: number;
  body: string;
  at: number;
}

/** Three servers, one room, one participant under test. */
export class World {
  readonly clock = new VirtualClock();
  readonly servers: FakeServer[];
  readonly statuses: Statuses;
  readonly submitted: Submitted[] = [];
  readonly greeted: { party: number; at: number }[] = [];
  /** Slot by party, or why none is given. */
  slots: (number | Problem)[] = [3, 3, 3];
  private version = 0;

  constructor() {
    this.servers = [0, 1, 2].map((party) => new FakeServer(party, this));
    this.statuses = new Statuses('room', this.servers, this.clock, 2);
  }

  /** All servers say that epoch `number` collects for `ms` more. */
  collect(number: number, ms: number, present = [1, 1, 1], last: Status['last'] = null): void {
    for (const { party } of this.servers)
      this.statuses.take(party, { ...this.status({ number, ms, present }), last });
  }

  status({ number, ms, present }: { number: number; ms: number; present: number[] }): Status {
    const epoch = {
      number,
      phase: 'collecting' as const,
      closes_in_ms: ms,
      assigned: 0,
      submitted: 0,
    };
    return {
      version: ++this.version,
      epoch,
      mixing: [],
      last: null,
      may_have_opened: [],
      present,
      places: present,
      board_length: 0,
      actions: 0,
    };
  }
}

export class FakeServer implements Server {
  /** What it says when it is asked how the room stands. */
  says: Status | null = null;
  /** Does not answer at all. */
  away = false;
  /** Bodies by epoch: a second, different one is refused, as a real server does. */
  private readonly held = new Map<number, string>();

  constructor(
    readonly party: number,
    private readonly world: World,
  ) {}

  servers(): Promise<ServerList> {
    return Promise.reject(new Problem(503, 'not asked in these tests'));
  }

  room(): Promise<RoomInfo> {
    return Promise.reject(new Problem(503, 'not asked in these tests'));
  }

  status(): Promise<Status> {
    if (this.says) return Promise.resolve(this.says);
    return Promise.reject(new Problem(503, 'statuses are pushed in these tests'));
  }

  async presence(): Promise<void> {
    this.answer();
    this.world.greeted.push({ party: this.party, at: this.world.clock.now() });
  }

  issue: Server['issue'] = async () => {
    this.answer();
    const slot = this.world.slots[this.party];
    if (typeof slot !== 'number') throw slot ?? new Problem(404, 'no slot yet');
    return Uint8Array.of(this.party, slot);
  };

  async submit(
    _: string,
    epoch: number,
    submission: { slot: number; body: Uint8Array },
  ): Promise<void> {
    this.answer();
    const body = new TextDecoder().decode(submission.body);
    if ((this.held.get(epoch) ?? body) !== body)
      throw new Problem(409, 'another submission stands');
    this.held.set(epoch, body);
    const at = this.world.clock.now();
    this.world.submitted.push({ party: this.party, epoch, slot: submission.slot, body, at });
  }

  board(_?: string, _from?: number): Promise<unknown[]> {
    return Promise.resolve([]);
  }

  actions(): Promise<unknown[]> {
    return Promise.resolve([]);
  }

  claim(): Promise<void> {
    return Promise.reject(new Problem(403, 'not asked in these tests'));
  }

  code(): Promise<{ room: string; servers: string }> {
    return Promise.reject(new Problem(404, 'not asked in these tests'));
  }

  private answer(): void {
    if (this.away) throw new TypeError('network');
  }
}

/** A device whose submissions can be read: what it says, and from whose issues. */
export function readableDevice(say: (epoch: number) => string | null): Device {
  return {
    publicKey: 'key',
    signPresence: () => 'signature',
    signIssueRequest: () => 'signature',
    submission: (epoch, issues) => {
      const said = issues.flatMap((bytes) => (bytes ? [{ party: bytes[0], slot: bytes[1] }] : []));
      const alike = (slot: unknown) => said.filter((one) => one.slot === slot);
      const slot = said.find((one) => alike(one.slot).length >= 2)?.slot;
      if (slot === undefined) throw new Error('two servers are needed');
      const words = say(epoch);
      const from = alike(slot).map((one) => one.party);
      return words === null
        ? null
        : { slot, body: new TextEncoder().encode(`${words} slot ${slot} from ${from.join('')}`) };
    },
  };
}
