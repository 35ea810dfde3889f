// A room without a network: virtual time, and servers that behave as they are told.

import { readFileSync } from 'node:fs';

import {
  Problem,
  type Reply,
  type Request,
  type Server,
  type ServerList,
  type RoomInfo,
  type Status,
} from '../lib/servers/api';
import type { Clock } from '../lib/page/clock';
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

/** Three servers, one room. */
export class World {
  readonly clock = new VirtualClock();
  readonly servers: FakeServer[];
  readonly statuses: Statuses;
  private version = 0;

  constructor() {
    this.servers = [0, 1, 2].map((party) => new FakeServer(party));
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
      raw: '',
    };
  }
}

export class FakeServer implements Server {
  /** What it says when it is asked how the room stands. */
  says: Status | null = null;

  constructor(readonly party: number) {}

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

  carry(_: Request): Promise<Reply> {
    return Promise.resolve({ status: 0, body: '' });
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
}
