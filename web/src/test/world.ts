// A room without a network: virtual time, and servers that behave as they are told.

import { readFileSync } from 'node:fs';

import {
  Problem,
  type Reply,
  type Request,
  type Server,
  type ServerList,
  type Status,
} from '../lib/servers/api';
import type { Clock } from '../lib/page/clock';
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
  readonly servers = [0, 1, 2].map((party) => new FakeServer(party, this.clock));
}

/** What a server says of a room in which epoch `number` collects, as far as the page reads it. */
export function statusOf(number: number): Status {
  const epoch = {
    number,
    phase: 'collecting' as const,
    closes_in_ms: 1_000,
    assigned: 0,
    submitted: 0,
  };
  return {
    version: 1,
    epoch,
    mixing: [],
    last: null,
    present: [],
    places: [],
    board_length: 0,
    actions: 0,
    overdue: null,
  };
}

export class FakeServer implements Server {
  /** What it says of the room; `null` if it does not answer. */
  says: (Status & { may_have_opened?: number[] }) | null = null;
  /** What it shows of its board, and of what the hosts did. */
  entries: unknown[] = [];
  done: unknown[] = [];

  constructor(
    readonly party: number,
    private readonly clock: Clock,
  ) {}

  servers(): Promise<ServerList> {
    return Promise.reject(new Problem(503, 'not asked in these tests'));
  }

  async carry({ path }: Pick<Request, 'path'>, signal: AbortSignal): Promise<Reply> {
    const from = Number(/from=(\d+)/.exec(path)?.[1]);
    // News takes a while.
    if (path.includes('after=')) await this.clock.sleep(1_000, signal);
    const answer = path.includes('/board')
      ? { entries: this.entries.slice(from) }
      : path.includes('/actions')
        ? { actions: this.done.slice(from) }
        : { minimum: 1, stock: 1, peers: [], context: null, ...this.says };
    if (!this.says) return { status: 0, body: '' };
    return { status: 200, body: JSON.stringify(answer) };
  }

  code(): Promise<{ room: string; servers: string }> {
    return Promise.reject(new Problem(404, 'not asked in these tests'));
  }
}
