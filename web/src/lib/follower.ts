// Reads a list on that every server serves, from whichever has more of it, and believes nothing unverified.

import type { Server, Status } from './api';
import type { Statuses } from './statuses';

/** What is followed. */
export interface Source {
  /** Items that a server says it has. */
  promised(status: Status): number;
  fetch(server: Server, from: number): Promise<unknown[]>;
  /** Items read so far. */
  length(): number;
  /** Verifies items and takes them in; throws what is wrong with them. */
  take(items: unknown[]): void;
}

/** Server `party` showed something that does not verify. */
export type Alarm = (party: number, reason: string) => void;

const PAUSE = 2_000;

export class Follower {
  /** Servers that have shown something forged are not asked again. */
  private readonly distrusted = new Set<number>();

  constructor(
    private readonly servers: Server[],
    private readonly statuses: Statuses,
    private readonly source: Source,
    private readonly alarm: Alarm,
  ) {}

  /** Reads on until `signal` aborts; `looked` is called after every look at what the servers say. */
  async follow(signal: AbortSignal, looked: () => void = () => undefined): Promise<void> {
    while (!signal.aborted) {
      const progressed = await this.readOn(signal);
      if (signal.aborted) return;
      looked();
      if (!progressed) await this.statuses.next(PAUSE, signal);
    }
  }

  private async readOn(signal: AbortSignal): Promise<boolean> {
    for (const [party, report] of this.statuses.reports.entries()) {
      const server = this.servers[party];
      if (!server || !report.reachable || !report.status || this.distrusted.has(party)) continue;
      const length = this.source.length();
      if (this.source.promised(report.status) <= length) continue;
      const items = await this.source.fetch(server, length).catch(() => []);
      if (signal.aborted) return false;
      // Whoever acts here reads too: what came in meanwhile is not read twice, or it would look like a second history.
      const read = this.source.length() - length;
      if (items.length > 0 && this.take(party, items.slice(read))) return true;
    }
    return false;
  }

  private take(party: number, items: unknown[]): boolean {
    if (items.length === 0) return true;
    try {
      this.source.take(items);
      return true;
    } catch (error) {
      this.distrusted.add(party);
      this.alarm(party, error instanceof Error ? error.message : String(error));
      return false;
    }
  }
}
