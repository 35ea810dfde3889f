// Follows the room's board: fetches what is new from whichever server has it, and believes nothing unverified.

import type { Server } from './api';
import type { Statuses } from './statuses';

/** One published epoch, verified. */
export interface WallEntry {
  epoch: number;
  /** How many submissions were mixed. */
  accepted: number;
  /** Party numbers of the servers that signed. */
  signers: number[];
  messages: string[];
}

/** What the newly read entries are and mean. */
export interface Reading {
  entries: WallEntry[];
  /** The device's own message is among them. */
  published: boolean;
  /** The device's own message goes into a later epoch. */
  again: boolean;
}

/** The verified board and the device's own message, which the two settle. */
export interface Ledger {
  length(): number;
  /** Verifies entries and takes them in, all or none; throws what is wrong with them. */
  read(entries: unknown[]): Reading;
  /** The epoch that decides about the own message. */
  undecided(): number | undefined;
  endedWithoutBoard(epoch: number): void;
}

export interface WallEvents {
  read(reading: Reading): void;
  /** Server `party` showed entries that do not verify. */
  alarm(party: number, reason: string): void;
  /** The own message goes into a later epoch. */
  again(epoch: number): void;
}

const PAUSE = 2_000;

export class Wall {
  /** Servers that have shown something forged are not asked again. */
  private readonly distrusted = new Set<number>();

  constructor(
    private readonly room: string,
    private readonly servers: Server[],
    private readonly statuses: Statuses,
    private readonly ledger: Ledger,
    private readonly events: WallEvents,
  ) {}

  /** Reads on until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const progressed = await this.readOn(signal);
      this.settle();
      if (!progressed) await this.statuses.next(PAUSE, signal);
    }
  }

  private async readOn(signal: AbortSignal): Promise<boolean> {
    for (const [party, report] of this.statuses.reports.entries()) {
      const longer = (report.status?.board_length ?? 0) > this.ledger.length();
      if (!report.reachable || !longer || this.distrusted.has(party)) continue;
      const entries = await this.servers[party]?.board(this.room, this.ledger.length()).catch(() => []);
      if (signal.aborted) return false;
      if (entries?.length && this.take(party, entries)) return true;
    }
    return false;
  }

  private take(party: number, entries: unknown[]): boolean {
    try {
      this.events.read(this.ledger.read(entries));
      return true;
    } catch (error) {
      this.distrusted.add(party);
      this.events.alarm(party, error instanceof Error ? error.message : String(error));
      return false;
    }
  }

  private settle(): void {
    const epoch = this.ledger.undecided();
    if (epoch === undefined || !this.statuses.endedWithoutBoard(epoch, this.ledger.length())) return;
    this.ledger.endedWithoutBoard(epoch);
    this.events.again(epoch);
  }
}
