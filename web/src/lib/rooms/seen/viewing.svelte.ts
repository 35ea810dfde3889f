// One room as anybody sees it who looks at it: its servers, its wall, what its hosts did. Nothing
// is sent but questions.

import { chatPath } from '../../page/addresses';
import { systemClock } from '../../page/clock';
import { Board, HostLog, Outbox, loadCryptography } from '../../page/cryptography';
import {
  ForMessages,
  WrongServers,
  connect,
  type Deployment,
  type Pin,
} from '../../servers/deployment';
import { Follower } from './follower';
import { EMPTY_LOG, LogBook, marksOf, type Poll, type Tally } from '../../hosts/hostlog';
import { Kept } from '../known/kept';
import { votesOf, type Progress } from '../../hosts/wall/polls';
import { reasonOf, type Reason } from '../../servers/reason';
import { NOBODY } from '../../servers/trust';
import { isOver } from '../../hosts/retention';
import { Statuses, type Report } from './statuses';
import { mostPresent, textsOf, type EpochView } from './view';
import { Wall, type Ledger, type Reading, type WallEntry } from './wall';

/** How far opening the room has come. */
export type Stage =
  | { at: 'connecting' }
  | { at: 'wrong-servers' }
  | { at: 'insecure' }
  | { at: 'failed'; reason: Reason }
  | { at: 'open'; deployment: Deployment };

export interface Alarm {
  party: number;
  /** The operator's name, which another one may have, too. */
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

/** Milliseconds between two looks whether every server has answered or failed to. */
const WAIT = 500;

export class Viewing {
  stage = $state.raw<Stage>({ at: 'connecting' });
  reports = $state.raw<Report[]>([]);
  entries = $state.raw<WallEntry[]>([]);
  log = $state.raw(EMPTY_LOG);
  alarms = $state.raw<Alarm[]>([]);
  /** Whether the hosts' actions are read, as far as they went when this page came. */
  informed = $state(false);
  /**
   * Whether the wall is read, as far as it went then; where no server answered, as far as this
   * device has kept it.
   */
  read = $state(false);
  /** Whether what this device has kept is read, since no server answered. */
  protected recalled = false;
  private readonly marks = $derived(marksOf(this.log));
  /** The texts of messages that are to be shown. */
  readonly textOf = $derived(textsOf(this.entries, this.marks));
  /** How many can take part in an epoch. */
  readonly most = $derived(
    this.stage.at === 'open'
      ? mostPresent(this.stage.deployment, this.informed ? this.log : null)
      : 0,
  );
  /** What the servers bear. */
  readonly trust = $derived(this.stage.at === 'open' ? this.stage.deployment.trust : NOBODY);
  /** The minimum that holds. */
  readonly minimum = $derived(
    this.log.minimum ?? (this.stage.at === 'open' ? this.stage.deployment.minimum : 0),
  );
  /** Votes of the newest round by message. */
  readonly votes = $derived(votesOf(this.log.polls, (poll) => this.counted(poll)));
  /** The digest of the newest entry: whoever has the same one has read the same board. */
  head = $state('');

  /** The hosts' actions, for those who add to them. `null` until the room is open. */
  hostLog: HostLog | null = null;
  protected readonly ended = new AbortController();
  protected readonly kept = new Kept();
  private readonly book = new LogBook();
  private board: Board | null = null;
  /** Actions that were read and are not kept on this device, by the place of the first. */
  private unkept: { from: number; actions: unknown[] }[] = [];

  constructor(readonly pin: Pin) {}

  /** Opens the room and looks at it until {@link Viewing.close}. */
  async open(): Promise<void> {
    if (!globalThis.isSecureContext) {
      this.stage = { at: 'insecure' };
      return;
    }
    try {
      await loadCryptography();
      const deployment = await connect(
        this.pin,
        location.origin,
        await this.kept.room(this.pin.room),
      );
      if (this.ended.signal.aborted) return;
      this.hostLog = new HostLog(deployment.servers, deployment.descriptor);
      this.stage = { at: 'open', deployment };
      const servers = this.servers(deployment);
      const { believed } = deployment.trust;
      const statuses = new Statuses(this.pin.room, servers, systemClock, believed);
      const following = statuses.follow(this.ended.signal, () => {
        this.reports = [...statuses.reports];
        this.heard();
      });
      await Promise.all([
        following,
        this.followActions(deployment, statuses, this.ended.signal),
        this.live(deployment, statuses, this.ended.signal),
      ]);
    } catch (error) {
      if (this.ended.signal.aborted) return;
      if (error instanceof ForMessages) return location.replace(chatPath(this.pin));
      this.stage =
        error instanceof WrongServers
          ? { at: 'wrong-servers' }
          : { at: 'failed', reason: reasonOf(error) };
    }
  }

  close(): void {
    this.ended.abort();
  }

  /** The result of a poll; `null` unless its epoch is on the board. */
  tally(poll: number): Tally | null {
    // What is counted follows from the two, which are read outside of this object's knowledge.
    void this.entries;
    void this.log;
    const counted = this.board && this.hostLog?.tally(this.board, BigInt(poll));
    return counted ? (JSON.parse(counted) as Tally) : null;
  }

  /** The result of a poll whose epoch is on the board. */
  private counted({ number, epoch }: Poll): Tally | null {
    return this.entries.some((entry) => entry.epoch === epoch) ? this.tally(number) : null;
  }

  /** Whether this device keeps what it sees of the room. */
  protected keeps(): boolean {
    return false;
  }

  /** What is done while the room is open. */
  protected async live(
    deployment: Deployment,
    statuses: Statuses,
    signal: AbortSignal,
  ): Promise<void> {
    await this.lookOn(deployment, statuses, signal);
  }

  /** Follows the wall of a room in which this page does not take part. */
  protected async lookOn(
    deployment: Deployment,
    statuses: Statuses,
    signal: AbortSignal,
  ): Promise<void> {
    const reader = { outbox: new Outbox(), save: () => undefined, again: () => undefined };
    await this.followWall(deployment, statuses, reader, signal);
  }

  /**
   * Follows the wall, from what was kept of it if no server answers at first. Nothing of it is
   * shown before it is known what the hosts hid, or want to approve first.
   */
  protected async followWall(
    deployment: Deployment,
    statuses: Statuses,
    reader: Reader,
    signal: AbortSignal,
  ): Promise<void> {
    const { wall, take } = this.wall(deployment, statuses, reader);
    await lookUntil(() => statuses.complete(), statuses, signal);
    if (!signal.aborted && !statuses.reports.some((report) => report.reachable))
      await this.readKept(take, signal);
    await lookUntil(() => this.informed, statuses, signal);
    const reading = async () => {
      if (await lookUntil(() => wall.caughtUp(), statuses, signal)) this.read = true;
    };
    await Promise.all([wall.follow(signal), reading()]);
  }

  /** Reads what was kept. Without the hosts' actions nothing of the wall is shown. */
  private async readKept(take: (entries: unknown[]) => void, signal: AbortSignal): Promise<void> {
    const { room } = this.pin;
    const [actions, entries] = [
      await this.kept.list('actions', room),
      await this.kept.list('entries', room),
    ];
    if (signal.aborted) return;
    try {
      // A tab that looked on before has read some of them, or all.
      this.hostLog?.read(JSON.stringify(actions.slice(Number(this.hostLog.length()))));
      this.showLog();
      take(entries);
      this.read = entries.length > 0;
    } catch {
      // What was kept and does not verify any more is as good as nothing: the servers give it anew.
    }
    this.recalled = true;
    this.heard();
  }

  /** Where the epochs stand for polls. `view`: the epoch as it is shown. */
  progress(view: EpochView | null): Progress {
    return {
      collecting: view?.number ?? null,
      boards: this.entries,
      reports: this.reports,
      believed: this.trust.believed,
      read: this.read,
    };
  }

  protected servers(deployment: Deployment) {
    return deployment.operators.map((operator) => operator.api);
  }

  /** The wall from its beginning. */
  private wall(
    deployment: Deployment,
    statuses: Statuses,
    reader: Reader,
  ): { wall: Wall; take: (entries: unknown[]) => void } {
    const board = new Board(deployment.servers, deployment.descriptor);
    this.board = board;
    this.entries = [];
    this.read = false;
    const { outbox, save } = reader;
    const doubt = () => statuses.mayHaveOpened().forEach((epoch) => outbox.doubt(BigInt(epoch)));
    const ledger: Ledger = {
      length: () => board.length(),
      read: (entries) => {
        const from = board.length();
        doubt();
        const reading = JSON.parse(board.read(JSON.stringify(entries), outbox)) as Reading;
        save();
        if (this.keeps()) void this.kept.keep('entries', this.pin.room, from, entries);
        return reading;
      },
      explained: (epoch, index) =>
        (this.marks(epoch, index)?.erased ?? false) || isOver(epoch, deployment, statuses.reports),
      undecided: () => {
        const epoch = outbox.awaited();
        return epoch === undefined ? undefined : Number(epoch);
      },
      endedWithoutBoard: (epoch) => {
        doubt();
        outbox.endedWithoutBoard(BigInt(epoch));
        save();
      },
    };
    const read = (reading: Reading) => {
      this.head = board.head();
      this.took(reading);
    };
    const wall = new Wall(this.pin.room, this.servers(deployment), statuses, ledger, {
      read,
      alarm: (party, reason) => this.warn(deployment, party, reason),
      again: (epoch) => reader.again(epoch),
    });
    return { wall, take: (entries) => read(ledger.read(entries)) };
  }

  protected took(reading: Reading): void {
    this.entries = [...this.entries, ...reading.entries];
  }

  /** Shows what the hosts' log has become. */
  protected showLog(): void {
    if (!this.hostLog) return;
    this.log = this.book.take(this.hostLog.changes());
    this.hosted();
  }

  /**
   * Called whenever a server has said how the room stands, or failed to, and when what there is was
   * read.
   */
  protected heard(): void {}

  /** Called whenever the hosts' log has grown. */
  protected hosted(): void {}

  /** Follows what the hosts do. */
  protected async followActions(
    deployment: Deployment,
    statuses: Statuses,
    signal: AbortSignal,
  ): Promise<void> {
    const log = this.hostLog;
    if (!log) throw new Error('the room is not open');
    const source = {
      promised: ({ actions }: { actions: number | null }) => actions ?? 0,
      fetch: (server: Deployment['operators'][number]['api'], from: number, until: AbortSignal) =>
        server.actions(this.pin.room, from, until),
      length: () => Number(log.length()),
      take: (actions: unknown[]) => {
        const from = Number(log.length());
        try {
          log.read(JSON.stringify(actions));
        } finally {
          // What came before something wrong was right.
          this.unkept.push({ from, actions: actions.slice(0, Number(log.length()) - from) });
          this.keepActions();
          this.showLog();
        }
      },
    };
    const follower = new Follower(this.servers(deployment), statuses, source, (party, reason) =>
      this.warn(deployment, party, reason),
    );
    const informing = async () => {
      if (!(await lookUntil(() => follower.caughtUp(), statuses, signal))) return;
      this.informed = true;
      this.heard();
      statuses.wake();
    };
    await Promise.all([follower.follow(signal), informing()]);
  }

  /**
   * Keeps the actions that were read, from the first one on, as soon as this device keeps anything.
   */
  protected keepActions(): void {
    if (!this.keeps()) return;
    for (const { from, actions } of this.unkept)
      void this.kept.keep('actions', this.pin.room, from, actions);
    this.unkept = [];
  }

  private warn(deployment: Deployment, party: number, reason: string): void {
    const server = deployment.operators[party]?.name ?? String(party);
    // Whoever reads from the beginning again, to take part, meets the same forgery again.
    if (this.alarms.some((alarm) => alarm.party === party && alarm.reason === reason)) return;
    this.alarms = [...this.alarms, { party, server, reason }];
  }
}

/**
 * Waits until `met`; whether it is before `signal` aborts. It is looked again at any word of a
 * server, and when something was read.
 */
async function lookUntil(
  met: () => boolean,
  statuses: Statuses,
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted && !met()) await statuses.next(WAIT, signal);
  return !signal.aborted;
}
