// One room as anybody sees it who looks at it: its servers, its wall, what its hosts did. Nothing is sent but questions.

import { systemClock } from './clock';
import { Board, HostLog, Outbox, loadCryptography } from './cryptography';
import { WrongServers, connect, type Deployment, type Pin } from './deployment';
import { Follower } from './follower';
import { EMPTY_LOG, type LogView, type Tally } from './hostlog';
import { Statuses, type Report } from './statuses';
import { Wall, type Ledger, type Reading, type WallEntry } from './wall';

/** How far opening the room has come. */
export type Stage =
  | { at: 'connecting' }
  | { at: 'wrong-servers' }
  | { at: 'insecure' }
  | { at: 'failed'; reason: string }
  | { at: 'open'; deployment: Deployment };

export interface Alarm {
  server: string;
  reason: string;
}

/** What a board is read with. */
export interface Reader {
  outbox: Outbox;
  /** Writes the outbox down. */
  save(): void;
  /** What this device put into the epoch was not published. */
  again(epoch: number): void;
}

export class Viewing {
  stage = $state.raw<Stage>({ at: 'connecting' });
  reports = $state.raw<Report[]>([]);
  entries = $state.raw<WallEntry[]>([]);
  log = $state.raw<LogView>(EMPTY_LOG);
  alarms = $state.raw<Alarm[]>([]);
  /** The digest of the newest entry: whoever has the same one has read the same board. */
  head = $state('');

  /** The hosts' actions, for those who add to them. `null` until the room is open. */
  hostLog: HostLog | null = null;
  protected readonly ended = new AbortController();
  private board: Board | null = null;

  constructor(readonly pin: Pin) {}

  /** Opens the room and looks at it until {@link Viewing.close}. */
  async open(): Promise<void> {
    if (!globalThis.isSecureContext) {
      this.stage = { at: 'insecure' };
      return;
    }
    try {
      await loadCryptography();
      const deployment = await connect(this.pin, location.origin);
      if (this.ended.signal.aborted) return;
      this.hostLog = new HostLog(deployment.servers, deployment.descriptor);
      this.stage = { at: 'open', deployment };
      const statuses = new Statuses(this.pin.room, this.servers(deployment), systemClock);
      const following = statuses.follow(this.ended.signal, () => {
        this.reports = [...statuses.reports];
      });
      await Promise.all([
        following,
        this.actions(deployment, statuses).follow(this.ended.signal),
        this.live(deployment, statuses, this.ended.signal),
      ]);
    } catch (error) {
      if (this.ended.signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      this.stage = error instanceof WrongServers ? { at: 'wrong-servers' } : { at: 'failed', reason };
    }
  }

  close(): void {
    this.ended.abort();
  }

  /** The result of a poll; `null` before its epoch is over. */
  tally(poll: number): Tally | null {
    // What is counted follows from the two, which are read outside of this object's knowledge.
    void this.entries;
    void this.log;
    const counted = this.board && this.hostLog?.tally(this.board, BigInt(poll));
    return counted ? (JSON.parse(counted) as Tally) : null;
  }

  /** What is done while the room is open. */
  protected async live(deployment: Deployment, statuses: Statuses, signal: AbortSignal): Promise<void> {
    await this.lookOn(deployment, statuses, signal);
  }

  /** Follows the wall of a room in which this page does not take part. */
  protected async lookOn(deployment: Deployment, statuses: Statuses, signal: AbortSignal): Promise<void> {
    const reader = { outbox: new Outbox(), save: () => undefined, again: () => undefined };
    await this.wall(deployment, statuses, reader).follow(signal);
  }

  protected servers(deployment: Deployment) {
    return deployment.operators.map((operator) => operator.api);
  }

  /** The wall from its beginning. */
  protected wall(deployment: Deployment, statuses: Statuses, reader: Reader): Wall {
    const board = new Board(deployment.servers, deployment.descriptor);
    this.board = board;
    this.entries = [];
    const { outbox, save } = reader;
    const ledger: Ledger = {
      length: () => board.length(),
      read: (entries) => {
        const reading = JSON.parse(board.read(JSON.stringify(entries), outbox)) as Reading;
        save();
        return reading;
      },
      undecided: () => {
        const epoch = outbox.awaited();
        return epoch === undefined ? undefined : Number(epoch);
      },
      endedWithoutBoard: (epoch) => {
        outbox.endedWithoutBoard(BigInt(epoch));
        save();
      },
    };
    return new Wall(this.pin.room, this.servers(deployment), statuses, ledger, {
      read: (reading) => {
        this.head = board.head();
        this.took(reading);
      },
      alarm: (party, reason) => this.warn(deployment, party, reason),
      again: (epoch) => reader.again(epoch),
    });
  }

  protected took(reading: Reading): void {
    this.entries = [...this.entries, ...reading.entries];
  }

  /** Called whenever the hosts' log has grown. */
  protected hosted(): void {}

  private actions(deployment: Deployment, statuses: Statuses): Follower {
    const log = this.hostLog;
    if (!log) throw new Error('the room is not open');
    const source = {
      promised: ({ actions }: { actions: number | null }) => actions ?? 0,
      fetch: (server: Deployment['operators'][number]['api'], from: number) => server.actions(this.pin.room, from),
      length: () => Number(log.length()),
      take: (actions: unknown[]) => {
        try {
          log.read(JSON.stringify(actions));
        } finally {
          // What came before something wrong was right.
          this.log = JSON.parse(log.view()) as LogView;
          this.hosted();
        }
      },
    };
    return new Follower(this.servers(deployment), statuses, source, (party, reason) => this.warn(deployment, party, reason));
  }

  private warn(deployment: Deployment, party: number, reason: string): void {
    const server = deployment.operators[party]?.name ?? String(party);
    this.alarms = [...this.alarms, { server, reason }];
  }
}
