// Follows the board of a room for messages from near its end on, whole, whatever is on it.

import type { Server } from '../../lib/servers/api';
import type { Messenger } from '../../lib/page/cryptography';
import { Follower, type Alarm } from '../../lib/rooms/seen/follower';
import type { Report, Statuses } from '../../lib/rooms/seen/statuses';
import { CYCLE } from './client';

/** The part of the client that reads. */
export type Reader = Pick<Messenger, 'begin' | 'length' | 'lastRound' | 'read' | 'over'>;

/** Milliseconds between two looks for the end of the board. */
const AGAIN = 1_000;
/**
 * Entries that are read in order. A device that slept through more goes on at the end, as one that
 * was closed does: what was said meanwhile is said again.
 */
export const BEHIND = 64;

/**
 * Entries before the end with which reading begins: two turns of every conversation, in which
 * another copy of the same contacts would show.
 */
export const BACK = 2 * CYCLE;

/**
 * What so many servers say at least that one of them is honest, of what each says; `null` where
 * fewer do.
 */
function agreed(said: (number | null)[], believed: number): number | null {
  const known = said.filter((one) => one !== null).sort((a, b) => b - a);
  return known[believed - 1] ?? null;
}

/** How long the board is, at least. */
export function lengthOf(reports: readonly Report[], believed: number): number | null {
  return agreed(
    reports.map(({ reachable, status }) => (reachable ? (status?.board_length ?? null) : null)),
    believed,
  );
}

/**
 * The last round that enough servers say is over, all of whose boards, and of those before it, were
 * read: `length` entries, up to that of round `last`.
 */
export function overBy(
  reports: readonly Report[],
  length: number,
  last: number | null,
  believed: number,
): number | null {
  return agreed(
    reports.map(({ reachable, status }) => {
      const ended = status?.last;
      if (!reachable || !ended || status.board_length > length) return null;
      if (ended.outcome === 'published' && (last ?? -1) < ended.number) return null;
      const mixed = status.mixing.map(({ number }) => number - 1);
      return Math.min(ended.number, ...mixed);
    }),
    believed,
  );
}

/** What the reading of a board tells. */
export interface Told {
  /** Something was read: `events` is JSON. */
  read(events: string): void;
  alarm: Alarm;
}

export class BoardOfRounds {
  private readonly follower: Follower;

  constructor(
    private readonly room: string,
    private readonly servers: Server[],
    private readonly statuses: Statuses,
    private readonly reader: Reader,
    private readonly told: Told,
  ) {
    const source = {
      promised: ({ board_length }: { board_length: number }) => board_length,
      fetch: (server: Server, from: number, signal: AbortSignal) =>
        server.board(room, from, signal),
      length: () => reader.length(),
      take: (entries: unknown[]) => told.read(reader.read(JSON.stringify(entries))),
    };
    this.follower = new Follower(servers, statuses, source, told.alarm);
  }

  /** Reads on until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!(await this.begin(signal))) {
        await this.statuses.next(AGAIN, signal);
        continue;
      }
      const behind = new AbortController();
      await this.follower.follow(AbortSignal.any([signal, behind.signal]), () => {
        this.settle();
        const length = lengthOf(this.statuses.reports, this.statuses.believed) ?? 0;
        if (length > this.reader.length() + BEHIND) behind.abort();
      });
    }
  }

  /** Finds the entry near the end as two servers show it. Whether it was found. */
  private async begin(signal: AbortSignal): Promise<boolean> {
    const length = lengthOf(this.statuses.reports, this.statuses.believed);
    if (length === null) return false;
    const first = Math.max(length - BACK, 0);
    if (first === 0) return this.reader.begin(0, '[]');
    const ask = (server: Server) =>
      server.board(this.room, first, signal).then(
        ([entry]) => (entry === undefined ? [] : [entry]),
        () => [],
      );
    const shown = (await Promise.all(this.servers.map(ask))).flat();
    return !signal.aborted && this.reader.begin(first, JSON.stringify(shown));
  }

  private settle(): void {
    const last = this.reader.lastRound();
    const round = last === undefined ? null : Number(last);
    const { reports, believed } = this.statuses;
    const over = overBy(reports, this.reader.length(), round, believed);
    if (over !== null) this.told.read(this.reader.over(BigInt(over)));
  }
}
