// Follows the room's board and settles what became of the device's own message and answers.

import type { Server } from './api';
import { Follower, type Alarm } from './follower';
import type { Statuses } from './statuses';

/** One published epoch, verified. */
export interface WallEntry {
  epoch: number;
  /** How many submissions were mixed. */
  accepted: number;
  /** Party numbers of the servers that signed. */
  signers: number[];
  /** The texts. */
  messages: string[];
  /** Their places among everything that the epoch published. */
  indices: number[];
  /** Places of what was erased. */
  erased: number[];
  /** Answers to polls. */
  ballots: number;
}

/** What the newly read entries are and mean. */
export interface Reading {
  entries: WallEntry[];
  /** The device's own message is among them. */
  published: boolean;
  /** The device's own message goes into a later epoch. */
  again: boolean;
}

/** The verified board and what this device put into it, which the two settle. */
export interface Ledger {
  length(): number;
  /** Verifies entries and takes them in, all or none; throws what is wrong with them. */
  read(entries: unknown[]): Reading;
  /** The epoch that decides about something of this device. */
  undecided(): number | undefined;
  endedWithoutBoard(epoch: number): void;
}

export interface WallEvents {
  read(reading: Reading): void;
  alarm: Alarm;
  /** What this device put into the epoch was not published. */
  again(epoch: number): void;
}

export class Wall {
  constructor(
    private readonly room: string,
    private readonly servers: Server[],
    private readonly statuses: Statuses,
    private readonly ledger: Ledger,
    private readonly events: WallEvents,
  ) {}

  /** Reads on until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const source = {
      promised: ({ board_length }: { board_length: number }) => board_length,
      fetch: (server: Server, from: number) => server.board(this.room, from),
      length: () => this.ledger.length(),
      take: (entries: unknown[]) => this.events.read(this.ledger.read(entries)),
    };
    await new Follower(this.servers, this.statuses, source, this.events.alarm).follow(signal, () => this.settle());
  }

  private settle(): void {
    const epoch = this.ledger.undecided();
    if (epoch === undefined || !this.statuses.endedWithoutBoard(epoch, this.ledger.length())) return;
    this.ledger.endedWithoutBoard(epoch);
    this.events.again(epoch);
  }
}
