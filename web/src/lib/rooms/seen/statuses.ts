// What each server says about the room, kept up to date by asking and asking again.

import type { Server, Status } from '../../servers/api';
import type { Clock } from '../../page/clock';

/** One server's latest word. */
export interface Report {
  /** `null` before the first answer or failure. */
  reachable: boolean | null;
  /** Its last status; stale while it is not reachable. */
  status: Status | null;
  /** When that came, by this device's clock. */
  came: number;
  /** When the epoch that collects is sealed, by this device's clock; `null` if that is open. */
  sealsAt: number | null;
}

/** Pauses between questions, so that a lively room does not keep the page busy: milliseconds. */
const PAUSE = 250;
const RETRY = 2_000;

export class Statuses {
  readonly reports: Report[];
  private waiting: (() => void)[] = [];
  private readonly listeners = new Set<(party: number) => void>();

  constructor(
    private readonly room: string,
    private readonly servers: Server[],
    private readonly clock: Clock,
    /** Servers that must say the same. */
    readonly believed: number,
  ) {
    this.reports = servers.map(() => ({ reachable: null, status: null, came: 0, sealsAt: null }));
  }

  /** Follows every server until `signal` aborts. */
  async follow(signal: AbortSignal, changed: () => void): Promise<void> {
    await Promise.all(this.servers.map((_, party) => this.followOne(party, signal, changed)));
  }

  private async followOne(party: number, signal: AbortSignal, changed: () => void): Promise<void> {
    const server = this.servers[party];
    while (server && !signal.aborted) {
      let pause = PAUSE;
      try {
        // A server that started anew counts its versions anew; the first question after silence is
        // for the present state.
        const before = this.reports[party];
        const after = before?.reachable && before.status ? before.status.version : null;
        this.take(party, await server.status(this.room, after, signal));
      } catch {
        if (signal.aborted) return;
        this.lose(party);
        pause = RETRY;
      }
      changed();
      await this.clock.sleep(pause, signal);
    }
  }

  /** The time, by this device's clock. */
  now(): number {
    return this.clock.now();
  }

  /** Takes in what a server says. */
  take(party: number, status: Status): void {
    this.reports[party] = {
      reachable: true,
      status,
      came: this.clock.now(),
      sealsAt: this.sealsAt(status, this.reports[party]),
    };
    this.told(party);
  }

  private sealsAt({ epoch }: Status, before: Report | undefined): number | null {
    const left = epoch?.closes_in_ms ?? null;
    if (left === null) return null;
    const now = this.clock.now();
    // An epoch that waits for company has no time left for as long as it waits: when it was to be
    // sealed is past, and stays so.
    const due =
      left === 0 && before?.status?.epoch?.number === epoch?.number ? before?.sealsAt : null;
    return Math.min(due ?? Infinity, now + left);
  }

  /** Notes that a server does not answer. */
  lose(party: number): void {
    const before = this.reports[party];
    this.reports[party] = {
      status: before?.status ?? null,
      came: before?.came ?? 0,
      sealsAt: before?.sealsAt ?? null,
      reachable: false,
    };
    this.told(party);
  }

  /** Calls `listener` at every word of a server, or its silence, until `signal` aborts. */
  listen(listener: (party: number) => void, signal: AbortSignal): void {
    this.listeners.add(listener);
    signal.addEventListener('abort', () => this.listeners.delete(listener), { once: true });
  }

  private told(party: number): void {
    for (const listener of [...this.listeners]) listener(party);
    this.wake();
  }

  /** Resolves at the next word of any server, after `ms`, or when `signal` aborts. */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    const done = new AbortController();
    const woken = new Promise<void>((resolve) => this.waiting.push(resolve));
    const asleep = this.clock.sleep(ms, AbortSignal.any([signal, done.signal]));
    await Promise.race([woken, asleep]);
    done.abort();
  }

  /** Lets whoever waits for a word look again. */
  wake(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Whether every server has answered or failed to. */
  complete(): boolean {
    return this.reports.every((report) => report.reachable !== null);
  }

  /** Epochs whose messages may have been read although they published none, as any server says. */
  mayHaveOpened(): number[] {
    return this.reports.flatMap(({ status }) => status?.may_have_opened ?? []);
  }

  /**
   * Whether so many servers that one is honest say that epoch `number` is over and the board, of
   * which `length` entries were verified, is no longer than that.
   */
  endedWithoutBoard(number: number, length: number): boolean {
    return (
      this.reports.filter(({ status }) => status !== null && saysEnded(status, number, length))
        .length >= this.believed
    );
  }
}

/**
 * When epoch `number` is sealed, by this device's clock; `null` if that is open. It is sealed when
 * the last server's clock has run out. One server alone is not believed: of three, what the one
 * says that is neither the first nor the last.
 */
export function closingOf(reports: readonly Report[], number: number): number | null {
  const said = reports
    .filter(({ reachable, status }) => reachable && status?.epoch?.number === number)
    .flatMap(({ sealsAt }) => (sealsAt === null ? [] : [sealsAt]))
    .sort((a, b) => a - b);
  return said[Math.floor(said.length / 2)] ?? null;
}

function saysEnded(
  { last, mixing, epoch, board_length }: Status,
  number: number,
  length: number,
): boolean {
  if (last === null || last.number < number) return false;
  const published = last.number === number && last.outcome === 'published';
  const pending =
    mixing.some((mix) => mix.number <= number) || (epoch !== null && epoch.number <= number);
  return !published && !pending && board_length <= length;
}
