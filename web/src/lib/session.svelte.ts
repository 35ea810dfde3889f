// One open room: everything that the page shows of it, and what the user can do there.

import { secureRandom, systemClock } from './clock';
import { Board, Outbox, loadCryptography } from './cryptography';
import { WrongServers, connect, type Deployment, type Pin } from './deployment';
import { device } from './device';
import { Keepsake } from './outbox';
import { Participant, type Part } from './participant';
import { Statuses, type Report } from './statuses';
import { Wall, type Reading, type WallEntry } from './wall';

/** How far opening the room has come. */
export type Stage =
  | { at: 'connecting' }
  | { at: 'wrong-servers' }
  | { at: 'insecure' }
  | { at: 'failed'; reason: string }
  | { at: 'open'; deployment: Deployment };

/** The device's own message, until it is on the wall. */
export interface OwnMessage {
  text: string;
  /** The epoch that it was put into; `null` while it waits for the next. */
  epoch: number | null;
}

/** What last became of the own message. */
export type News = { kind: 'published' } | { kind: 'again'; epoch: number | null } | null;

export interface Alarm {
  server: string;
  reason: string;
}

const homeName = (room: string) => `ostrakon/home/${room}`;

/** The server that this tab was present at before it was reloaded. */
function homeBefore(room: string): number | undefined {
  const kept = sessionStorage.getItem(homeName(room));
  return kept === null ? undefined : Number(kept);
}

export class Session {
  stage = $state.raw<Stage>({ at: 'connecting' });
  reports = $state.raw<Report[]>([]);
  entries = $state.raw<WallEntry[]>([]);
  /** `elsewhere`: another tab of this browser takes part. */
  part = $state.raw<Part | { at: 'elsewhere' }>({ at: 'looking' });
  own = $state.raw<OwnMessage | null>(null);
  news = $state.raw<News>(null);
  alarms = $state.raw<Alarm[]>([]);

  private readonly ended = new AbortController();
  private keepsake: Keepsake | null = null;

  constructor(private readonly pin: Pin) {}

  /** Opens the room and stays in it until {@link Session.close}. */
  async open(): Promise<void> {
    if (!globalThis.isSecureContext) {
      this.stage = { at: 'insecure' };
      return;
    }
    try {
      await loadCryptography();
      const deployment = await connect(this.pin, location.origin);
      if (this.ended.signal.aborted) return;
      this.stage = { at: 'open', deployment };
      await this.live(deployment, this.ended.signal);
    } catch (error) {
      if (this.ended.signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      this.stage = error instanceof WrongServers ? { at: 'wrong-servers' } : { at: 'failed', reason };
    }
  }

  close(): void {
    this.ended.abort();
  }

  /** Keeps `text` on this device until it is on the wall. */
  say(text: string): void {
    if (!this.keepsake) return;
    this.keepsake.outbox.put(text);
    this.keepsake.save();
    this.news = null;
    this.showOwn();
  }

  private async live(deployment: Deployment, signal: AbortSignal): Promise<void> {
    const servers = deployment.operators.map((operator) => operator.api);
    const statuses = new Statuses(this.pin.room, servers, systemClock);
    const following = statuses.follow(signal, () => {
      this.reports = [...statuses.reports];
    });
    await Promise.all([following, this.inTurn(deployment, statuses, signal)]);
  }

  /** One tab of a browser takes part in a room, the others look on: so nothing is ever said in two ways. */
  private async inTurn(deployment: Deployment, statuses: Statuses, signal: AbortSignal): Promise<void> {
    const name = `ostrakon/room/${this.pin.room}`;
    const taken = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
      if (lock) await this.takePart(deployment, statuses, signal);
      return lock !== null;
    });
    if (taken || signal.aborted) return;
    const turn = new AbortController();
    const looking = this.lookOn(deployment, statuses, AbortSignal.any([signal, turn.signal]));
    await navigator.locks.request(name, { signal }, async () => {
      turn.abort();
      await looking;
      await this.takePart(deployment, statuses, signal);
    });
  }

  private async lookOn(deployment: Deployment, statuses: Statuses, signal: AbortSignal): Promise<void> {
    this.part = { at: 'elsewhere' };
    await this.wall(deployment, statuses, new Outbox(), () => undefined).follow(signal);
  }

  private async takePart(deployment: Deployment, statuses: Statuses, signal: AbortSignal): Promise<void> {
    const keepsake = Keepsake.open(localStorage, this.pin.room);
    this.keepsake = keepsake;
    this.part = { at: 'looking' };
    this.showOwn();
    const wall = this.wall(deployment, statuses, keepsake.outbox, () => keepsake.save());
    const participant = new Participant({
      room: this.pin.room,
      servers: deployment.operators.map((operator) => operator.api),
      statuses,
      device: device(deployment, keepsake),
      clock: systemClock,
      random: secureRandom,
      before: homeBefore(this.pin.room),
      moved: (part) => {
        this.part = part;
        if ('home' in part) sessionStorage.setItem(homeName(this.pin.room), String(part.home));
        this.showOwn();
      },
    });
    const taking = deployment.closed ? Promise.resolve() : participant.run(signal);
    await Promise.all([wall.follow(signal), taking]);
  }

  private wall(deployment: Deployment, statuses: Statuses, outbox: Outbox, save: () => void): Wall {
    const board = new Board(deployment.servers, deployment.descriptor);
    const servers = deployment.operators.map((operator) => operator.api);
    this.entries = [];
    const ledger = {
      length: () => board.length(),
      read: (entries: unknown[]) => {
        const reading = JSON.parse(board.read(JSON.stringify(entries), outbox)) as Reading;
        save();
        return reading;
      },
      undecided: () => {
        const epoch = outbox.undecided();
        return epoch === undefined ? undefined : Number(epoch);
      },
      endedWithoutBoard: (epoch: number) => {
        outbox.endedWithoutBoard(BigInt(epoch));
        save();
      },
    };
    return new Wall(this.pin.room, servers, statuses, ledger, {
      read: (reading) => this.took(reading),
      alarm: (party, reason) => {
        const server = deployment.operators[party]?.name ?? String(party);
        this.alarms = [...this.alarms, { server, reason }];
      },
      again: (epoch) => {
        this.news = { kind: 'again', epoch };
        this.showOwn();
      },
    });
  }

  private took(reading: Reading): void {
    this.entries = [...this.entries, ...reading.entries];
    if (reading.published) this.news = { kind: 'published' };
    else if (reading.again) this.news = { kind: 'again', epoch: null };
    this.showOwn();
  }

  private showOwn(): void {
    const text = this.keepsake?.outbox.message();
    const epoch = this.keepsake?.outbox.undecided();
    this.own = text === undefined ? null : { text, epoch: epoch === undefined ? null : Number(epoch) };
  }
}
