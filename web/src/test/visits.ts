// Servers that answer as they are written to have answered, in `crates/client/tests/traces`.

import { readFileSync } from 'node:fs';

import { systemClock, type Clock } from '../lib/page/clock';
import type { Reply, Request } from '../lib/servers/api';

/** A request that was sent; a body of bytes is in base64url. */
export interface Sent {
  at: number;
  party: number;
  path: string;
  body: string | null;
}

/** See `crates/client/tests/visitor/script.rs`. */
export interface Script {
  servers: { servers: { party: number; url: string }[] };
  decision: string;
  key: number[];
  seed: number[];
  start: number;
  lasts: number;
  wishes: { at: number; answers: number[] | null }[];
  exchanges: Exchange[];
}

export interface Exchange extends Sent {
  delay: number;
  /** 0 if no answer comes. */
  status: number;
  answer: string;
}

/** See `crates/client/tests/host/script.rs`. */
export interface HostScript extends Pick<Script, 'key' | 'seed' | 'start' | 'lasts' | 'exchanges'> {
  servers: unknown;
  descriptor: unknown;
  invitation: number[] | null;
  wishes: { at: number; deed: unknown }[];
}

/** See `crates/client/tests/host/script.rs`. */
export interface OpeningScript extends Pick<Script, 'seed' | 'start' | 'lasts' | 'exchanges'> {
  servers: unknown;
  wish: unknown;
  order: number[];
}

/** See `crates/client/tests/arriving/script.rs`. */
export interface ArrivingScript extends Pick<Script, 'seed' | 'start' | 'lasts' | 'exchanges'> {
  origin: string;
  servers: string | null;
  room: string | null;
}

/** See `crates/client/tests/visitor/beginnings.rs`. */
export interface BeginningScript extends Pick<
  Script,
  'key' | 'seed' | 'start' | 'lasts' | 'exchanges'
> {
  servers: unknown;
  draft: unknown;
}

/** See `crates/client/tests/joining/script.rs`. */
export interface CanvassScript extends Pick<Script, 'seed' | 'start' | 'lasts' | 'exchanges'> {
  call: unknown;
}

export function scriptOf<S = Script>(name: string): S {
  const path = new URL(`../../../crates/client/tests/traces/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')) as S;
}

type Exchanged = Pick<Script, 'start' | 'exchanges'>;

export class Played {
  readonly sent: Sent[] = [];
  /** Nothing more happens at the servers. */
  isOver = false;
  private left: Exchange[];
  private readonly given: Exchange[] = [];

  constructor(readonly script: Exchanged) {
    this.left = [...script.exchanges];
  }

  /** What is written of a request, or was answered to the same one last; nothing otherwise. */
  answer(party: number, path: string, body: string | null): Exchange | undefined {
    this.sent.push({ at: Date.now() - this.script.start, party, path, body });
    const same = (one: Sent) => one.party === party && one.path === path && one.body === body;
    const found = this.isOver ? undefined : this.left.find(same);
    if (!found) return this.given.findLast(same);
    this.left = this.left.filter((one) => one !== found);
    this.given.push(found);
    return found;
  }

  /** A server that answers so. */
  server(party: number, clock: Clock) {
    return {
      carry: async ({ path, body, patience }: Request, signal: AbortSignal): Promise<Reply> => {
        const found = this.answer(party, path, body);
        await clock.sleep(found?.delay ?? patience, signal);
        return { status: found?.status ?? 0, body: found?.answer ?? '' };
      },
    };
  }

  /** The records that were handed in. */
  handedIn(): { party: number; body: string }[] {
    return this.sent.flatMap(({ party, path, body }) =>
      path.endsWith('/records') && body !== null ? [{ party, body }] : [],
    );
  }
}

/** What is written to be sent. */
export const written = ({ exchanges }: Exchanged): Sent[] =>
  exchanges.map(({ at, party, path, body }) => ({ at, party, path, body }));

/** The clock of vitest's timers, on which what is due at once takes no time. */
export const atOnce: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => (ms <= 0 ? Promise.resolve() : systemClock.sleep(ms, signal)),
};
