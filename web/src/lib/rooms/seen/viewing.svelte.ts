// One room as anybody sees it who looks at it: its servers, its wall, what its hosts did. Nothing
// is sent but questions.

import { chatPath } from '../../page/addresses';
import { systemClock } from '../../page/clock';
import { HostLog, Outbox, beginFollowing, loadCryptography } from '../../page/cryptography';
import {
  ForMessages,
  WrongServers,
  connect,
  type Deployment,
  type Pin,
} from '../../servers/deployment';
import { EMPTY_LOG, LogBook, marksOf, type Poll, type Tally } from '../../hosts/hostlog';
import { Kept } from '../known/kept';
import { votesOf, type Progress } from '../../hosts/wall/polls';
import { reasonOf, type Reason } from '../../servers/reason';
import { NOBODY } from '../../servers/trust';
import {
  Following,
  type Reading,
  type Report,
  type Sight,
  type WallEntry,
  type Words,
} from './following';
import { mostPresent, textsOf, type EpochView } from './view';

/** How far opening the room has come. */
export type Stage =
  | { at: 'connecting' }
  | { at: 'wrong-servers'; server: string }
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
  /** What the wall is read with. */
  private reader!: Reader;
  protected following: Following | null = null;
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
      this.stage = { at: 'open', deployment };
      this.follow(deployment);
      await this.live(deployment, this.ended.signal);
    } catch (error) {
      if (this.ended.signal.aborted) return;
      if (error instanceof ForMessages) return location.replace(chatPath(this.pin));
      this.stage =
        error instanceof WrongServers
          ? { at: 'wrong-servers', server: error.server }
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
    const counted = this.hostLog?.tally(BigInt(poll));
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
  protected live(_deployment: Deployment, _signal: AbortSignal): Promise<void> {
    return Promise.resolve();
  }

  /** Follows the room. */
  protected follow(deployment: Deployment, clock = systemClock): void {
    const machine = beginFollowing(deployment);
    this.hostLog = machine.log();
    // Nothing is said, or written down, before the user takes part.
    this.reader = { outbox: new Outbox(), save: () => undefined, again: () => undefined };
    const following = new Following(machine, this.servers(deployment), clock, this.ended.signal, {
      saw: (sight) => this.saw(deployment, following, sight),
      looked: () => this.settle(following),
      keeps: () => this.keeps(),
    });
    this.following = following;
    following.happened((now) => machine.wake(now));
  }

  private saw(deployment: Deployment, { machine, reports }: Following, sight: Sight): void {
    switch (sight.do) {
      case 'heard':
        this.reports = [...reports];
        this.heard();
        break;
      case 'actions':
        this.unkept.push(sight);
        this.keepActions();
        this.showLog();
        break;
      case 'entries': {
        this.doubt(machine);
        const reading = JSON.parse(machine.show(this.reader.outbox)) as Reading;
        this.reader.save();
        if (this.keeps()) void this.kept.keep('entries', this.pin.room, sight.from, sight.entries);
        this.head = machine.head();
        this.took(reading);
        break;
      }
      case 'forged':
        this.warn(deployment, sight.party, sight.why);
        break;
      case 'informed':
        this.informed = true;
        this.heard();
        break;
      case 'caught-up':
        this.read = true;
    }
  }

  private doubt(machine: Following['machine']): void {
    for (const epoch of machine.mayHaveOpened()) this.reader.outbox.doubt(epoch);
  }

  /** Learns that an epoch ended without a board, and reads what is kept while nobody answers. */
  private settle(following: Following): void {
    const { machine } = following;
    const { outbox, save, again } = this.reader;
    const [epoch, over] = [outbox.awaited(), machine.over()];
    if (epoch !== undefined && over !== undefined && epoch <= over) {
      this.doubt(machine);
      outbox.endedWithoutBoard(epoch);
      save();
      again(Number(epoch));
    }
    if (!this.recalled && !this.informed && machine.isAlone()) {
      this.recalled = true;
      void this.readKept(following);
    }
  }

  /**
   * Reads what was kept. Without the hosts' actions nothing of the wall is shown, nor before it is
   * known what they hid, or want to approve first.
   */
  private async readKept(following: Following): Promise<void> {
    const { room } = this.pin;
    const [actions, entries] = [
      await this.kept.list('actions', room),
      await this.kept.list('entries', room),
    ];
    following.happened(() => {
      try {
        following.machine.recall(JSON.stringify(actions), JSON.stringify(entries));
        this.read = entries.length > 0;
      } catch {
        // What was kept and does not verify any more is as good as nothing: the servers give it
        // anew.
      }
    });
    this.heard();
  }

  /** Reads the wall anew from its beginning, with something else. */
  protected readAnew(reader: Reader): void {
    const { following } = this;
    this.reader = reader;
    this.entries = [];
    this.read = false;
    following?.happened(() => following.machine.reread());
    if (following && this.recalled && following.machine.isAlone()) void this.readKept(following);
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

  protected words(): Words {
    if (!this.following) throw new Error('the room is not open');
    return this.following;
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
