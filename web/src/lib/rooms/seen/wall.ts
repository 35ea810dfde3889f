// Follows the room's board and settles what became of the device's own message and answers.

import type { Server } from '../../servers/api';
import { Follower, type Alarm } from './follower';
import { count, list, opaque, record } from '../../servers/shape';
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
  /** The device's own message is among them, or may be among what is erased of them. */
  published: boolean;
  /** It is not among what can be read. */
  erased: boolean;
  /** The device's own message goes into a later epoch. */
  again: boolean;
}

/** The verified board and what this device put into it, which the two settle. */
export interface Ledger {
  length(): number;
  /** Verifies entries and takes them in, all or none; throws what is wrong with them. */
  read(entries: unknown[]): Reading;
  /** Whether it is known why a body is gone: a host had it erased, or its time is over. */
  explained(epoch: number, index: number): boolean;
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

const signedShape = record({
  entry: record({ epoch: record({ number: count }), messages: list(opaque) }),
});

/**
 * How many bodies a signed entry lacks without a known reason. What has no such form is for the
 * ledger to refuse.
 */
function lackOf(entry: unknown, explained: Ledger['explained']): number {
  try {
    const { epoch, messages } = signedShape(entry).entry;
    const gone = (message: unknown) =>
      typeof message === 'object' && message !== null && 'erased' in message;
    return messages.filter((message, index) => gone(message) && !explained(epoch.number, index))
      .length;
  } catch {
    return 0;
  }
}

export class Wall {
  private readonly follower: Follower;

  constructor(
    room: string,
    servers: Server[],
    private readonly statuses: Statuses,
    private readonly ledger: Ledger,
    private readonly events: WallEvents,
  ) {
    const source = {
      promised: ({ board_length }: { board_length: number }) => board_length,
      fetch: (server: Server, from: number, signal: AbortSignal) =>
        server.board(room, from, signal),
      length: () => ledger.length(),
      take: (entries: unknown[]) => events.read(ledger.read(entries)),
      lack: (entry: unknown) => lackOf(entry, (epoch, index) => ledger.explained(epoch, index)),
    };
    this.follower = new Follower(servers, statuses, source, events.alarm);
  }

  /** Reads on until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    await this.follower.follow(signal, () => this.settle());
  }

  /** Whether the wall is read as far as it goes ({@link Follower.caughtUp}). */
  caughtUp(): boolean {
    return this.follower.caughtUp();
  }

  private settle(): void {
    const epoch = this.ledger.undecided();
    if (epoch === undefined || !this.statuses.endedWithoutBoard(epoch, this.ledger.length()))
      return;
    this.ledger.endedWithoutBoard(epoch);
    this.events.again(epoch);
  }
}
