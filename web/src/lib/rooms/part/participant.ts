// Takes part in every epoch of a room, with a message or with a cover: presence, slot, masks,
// submission.

import { Problem, type Server } from '../../servers/api';
import type { Clock } from '../../page/clock';
import { chooseHome, isCrowded } from '../../page/cryptography';
import { StorageFull } from './outbox';
import type { Statuses } from '../seen/statuses';

/** The cryptography of one device in one room. */
export interface Device {
  readonly publicKey: string;
  signPresence(time: number, party: number): string;
  /** The signed request for what server `party` gives in an epoch, as a query. */
  signIssueRequest(epoch: number, party: number): string;
  /**
   * Makes the submission for an epoch and a slot that two servers describe alike, and writes down
   * what it has put into it before returning. `null` if the epoch is over. Throws while `issues`
   * (by party, as they came) do not suffice, and {@link StorageFull} while it cannot be written
   * down.
   */
  submission(
    epoch: number,
    issues: (Uint8Array | undefined)[],
  ): Submission | null | Promise<Submission | null>;
}

/** What is handed to every server. */
export interface Submission {
  slot: number;
  body: Uint8Array;
}

/** Where the participant stands. */
export type Part =
  | { at: 'looking' }
  | { at: 'waiting'; home: number }
  | { at: 'placed'; home: number; epoch: number }
  | { at: 'handed-in'; home: number; epoch: number };

export interface Surroundings {
  room: string;
  servers: Server[];
  statuses: Statuses;
  device: Device;
  clock: Clock;
  /** Seconds of an epoch, as the room's descriptor says. */
  seconds: number;
  /** Where this participant was present a moment ago, before a reload. */
  before?: number | undefined;
  /** A number from 0 up to 1 that nobody else can guess. */
  random(): number;
  /** Called whenever the participant moves on. */
  moved(part: Part): void;
}

/** Milliseconds between two signs of presence; a server forgets a participant after 30 s. */
const HEARTBEAT = 10_000;
/** Milliseconds after a sign that did not arrive before the next one. */
const HEARTBEAT_AGAIN = 5_000;
/** Milliseconds after which a server forgets a participant. */
const FORGOTTEN = 30_000;
/** Milliseconds between two questions for something that comes soon. */
const POLL = 400;
/** Least milliseconds between a submission and the sealing. */
const MARGIN = 1_500;
/** Most milliseconds between a submission and the sealing, in rooms with long epochs. */
const EARLIEST = 60_000;
/** Milliseconds within which servers should have told how many participants they have. */
const COUNTING = 1_500;
/**
 * Who was present so many milliseconds before the sealing and got no slot looks for another server.
 */
const SETTLED = 5_000;

/**
 * Milliseconds, or in rooms with short epochs a third of one, after which a server gives a place to
 * whoever is still there; and how long that may take to arrive. Who has none by then goes to
 * another
 * server, whatever numbers the servers tell.
 */
const LONGEST_WAIT = 5_000;
const ARRIVING = 1_500;
/** Milliseconds after which whoever has no place looks whether the home is fuller than others. */
const CROWDED = 1_000;
/** Milliseconds that a server may be behind its own word or behind the others before it is left. */
const PATIENCE = 15_000;

export class Participant {
  /** Servers at which this participant has waited in vain for a place in an epoch. */
  private shunned = { epoch: -1, parties: new Set<number>() };
  /** When this device was last seen to run, and when it went on after it had stood still. */
  private ran = 0;
  private returned = -Infinity;

  constructor(private readonly world: Surroundings) {}

  /** Takes part until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    let avoid: number | undefined;
    let before = this.world.before;
    while (!signal.aborted) {
      // Whoever comes back is still counted where it was, and would count twice elsewhere.
      const returned = before !== undefined && (await this.greet(before));
      const home = returned ? before : await this.settle(avoid, signal);
      before = undefined;
      if (home === undefined) return;
      await this.stay(home, signal);
      avoid = home;
    }
  }

  /** Finds the emptiest server that lets this participant in. */
  private async settle(
    avoid: number | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { statuses, random, moved, clock } = this.world;
    moved({ at: 'looking' });
    const begun = clock.now();
    while (!signal.aborted && !statuses.complete() && clock.now() < begun + COUNTING)
      await statuses.next(POLL, signal);
    while (!signal.aborted) {
      const home = chooseHome(this.open(), avoid, Math.floor(random() * 2 ** 31));
      if (home !== undefined && (await this.greet(home))) return home;
      await statuses.next(POLL, signal);
    }
    return undefined;
  }

  /** How many the servers have that are not shunned; of all, if no other one answers. */
  private open(): number[] {
    const all = this.world.statuses.places();
    const left = all.map((count, party) => (this.shunned.parties.has(party) ? -1 : count));
    return left.some((count) => count >= 0) ? left : all;
  }

  /**
   * Whether to make room: an epoch failed because too many had their places from one server, and
   * this participant is one of them. Every second one goes.
   */
  private crowded(home: number): boolean {
    const { statuses, random } = this.world;
    const failed = statuses.reports[home]?.status?.last?.outcome === 'too-few';
    return failed && isCrowded(statuses.places(), home) && random() < 0.5;
  }

  /** Says to a server that this participant is there. */
  private async greet(party: number): Promise<boolean> {
    const { room, servers, device, clock } = this.world;
    const server = servers[party];
    if (!server) return false;
    const time = Math.floor(clock.now() / 1000);
    const presence = { key: device.publicKey, time, signature: device.signPresence(time, party) };
    try {
      await server.presence(room, presence);
      return true;
    } catch {
      return false;
    }
  }

  /** Takes part at one server until it stops answering, gives no slot, or is too full. */
  private async stay(home: number, signal: AbortSignal): Promise<void> {
    const leave = new AbortController();
    const until = AbortSignal.any([signal, leave.signal]);
    const heart = this.beat(home, until).finally(() => leave.abort());
    const since = this.world.clock.now();
    this.ran = since;
    let last = -1;
    while (!until.aborted) {
      this.world.moved({ at: 'waiting', home });
      const epoch = await this.nextEpoch(home, last, until);
      if (epoch === null) {
        leave.abort();
        break;
      }
      last = epoch;
      const served = await this.takePart(epoch, home, since, until);
      if (served === 'again') {
        last = epoch - 1;
        await this.world.clock.sleep(POLL, until);
      } else if (!served || this.crowded(home)) leave.abort();
    }
    await heart;
  }

  /** Keeps the presence alive; returns when the server has not answered twice. */
  private async beat(home: number, signal: AbortSignal): Promise<void> {
    let missed = 0;
    while (missed < 2) {
      await this.world.clock.sleep(missed === 0 ? HEARTBEAT : HEARTBEAT_AGAIN, signal);
      if (signal.aborted) return;
      this.notice();
      missed = (await this.greet(home)) ? 0 : missed + 1;
    }
  }

  /**
   * Notices that much more time has passed than was waited for: the device was asleep, or its
   * browser was stopped.
   */
  private notice(): void {
    const now = this.world.clock.now();
    if (now - this.ran >= FORGOTTEN) this.returned = now;
    this.ran = now;
  }

  /**
   * Whether this device stood still until a moment ago. The home has forgotten it, and could not
   * serve it: it is a newcomer there. Going elsewhere, it would be counted twice.
   */
  private wasAway(): boolean {
    this.notice();
    return this.ran - this.returned < SETTLED;
  }

  /**
   * The number of the next epoch that the home says it collects for. That it says so alone does no
   * harm: what is asked for under a number, two servers must describe alike. `null` if it stays
   * behind the others.
   */
  private async nextEpoch(home: number, last: number, signal: AbortSignal): Promise<number | null> {
    const { statuses, clock } = this.world;
    let behind: number | null = null;
    while (!signal.aborted) {
      const epoch = statuses.reports[home]?.status?.epoch;
      if (epoch?.phase === 'collecting' && epoch.number > last) return epoch.number;
      behind = this.isBehind(home, last) ? (behind ?? clock.now()) : null;
      if (behind !== null && clock.now() - behind > PATIENCE) return null;
      await statuses.next(behind === null ? HEARTBEAT : POLL, signal);
    }
    return null;
  }

  /**
   * Whether both other servers collect for a later epoch than `number`; one of the two is honest.
   */
  private isBehind(home: number, number: number): boolean {
    const others = this.world.statuses.reports.filter((_, party) => party !== home);
    return others.every(
      ({ reachable, status }) => reachable && (status?.epoch?.number ?? -1) > number,
    );
  }

  /**
   * One epoch from slot to submission. False if the home made it impossible; `again` if this device
   * did, by standing still.
   */
  private async takePart(
    epoch: number,
    home: number,
    since: number,
    signal: AbortSignal,
  ): Promise<boolean | 'again'> {
    const { statuses, clock, moved } = this.world;
    if (epoch !== this.shunned.epoch) this.shunned = { epoch, parties: new Set() };
    const over = this.whenOver(epoch, home, signal);
    const opened = clock.now();
    const due = this.whenDue(epoch, over);
    const first = await this.place(epoch, home, due);
    if (first === 'elsewhere') return false;
    // Who came shortly before the sealing has nobody to blame.
    const hasty = () => {
      if (!over.aborted && this.wasAway()) return 'again';
      return signal.aborted || clock.now() - Math.max(since, opened, this.returned) < SETTLED;
    };
    if (!first) return hasty();
    moved({ at: 'placed', home, epoch });
    const issues: (Uint8Array | undefined)[] = [];
    issues[home] = first;
    const others = statuses.reports.map((_, party) => party).filter((party) => party !== home);
    const asked = others.map(async (party) => {
      issues[party] = await this.ask(party, epoch, due);
    });
    await this.moment(epoch, due);
    // Two servers' material may be enough; a third one that is slow is waited for up to this
    // moment.
    const submission = await this.compose(epoch, issues, due, over);
    if (submission && (await this.handIn(epoch, submission, over)))
      moved({ at: 'handed-in', home, epoch });
    // A home that keeps an epoch open for company may keep whoever has handed in; whoever has not
    // need not wait for it.
    await untilAborted(submission ? over : due);
    await Promise.all(asked);
    // A home whose word on epoch and slot nobody else confirms is no better than one that gives no
    // slot.
    return submission !== undefined || hasty();
  }

  /**
   * Aborts with `over`, or when an epoch of the room's length should long have been sealed: by then
   * whoever takes part has a slot that two servers describe alike, and a home that kept it from
   * that must not keep it any longer.
   */
  private whenDue(epoch: number, over: AbortSignal): AbortSignal {
    const { statuses, clock, seconds } = this.world;
    const due = new AbortController();
    const said = (statuses.closing(epoch) ?? clock.now()) - clock.now();
    const left = Math.min(Math.max(0, said), seconds * 1000);
    void clock.sleep(left + PATIENCE, over).then(() => due.abort());
    return AbortSignal.any([over, due.signal]);
  }

  /**
   * Aborts when the home server collects for a later epoch, when the others have gone on without
   * it, or when `signal` does.
   */
  private whenOver(number: number, home: number, signal: AbortSignal): AbortSignal {
    const { statuses } = this.world;
    const over = new AbortController();
    const watch = async () => {
      const current = () => statuses.reports[home]?.status?.epoch?.number;
      while (!signal.aborted && current() === number && !this.isBehind(home, number))
        await statuses.next(HEARTBEAT, signal);
      over.abort();
    };
    void watch();
    return over.signal;
  }

  /** Asks a server for what it gives to this participant's slot until it gives it or `over`. */
  private async ask(
    party: number,
    epoch: number,
    over: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const { room, servers, device, clock } = this.world;
    const request = device.signIssueRequest(epoch, party);
    while (!over.aborted) {
      try {
        return await servers[party]?.issue(room, epoch, request);
      } catch (error) {
        if (error instanceof Problem && error.status === 409) return undefined;
      }
      await clock.sleep(POLL, over);
    }
    return undefined;
  }

  /**
   * Waits for the moment of the submission. It is drawn without regard to whether there is
   * something to say, so that it tells nothing, and lies late, so that what is written meanwhile
   * comes along.
   */
  private async moment(epoch: number, over: AbortSignal): Promise<void> {
    const { statuses, clock, random } = this.world;
    const share = 0.2 + 0.2 * random();
    const left = () => {
      const seals = statuses.closing(epoch);
      return seals === null ? 0 : seals - clock.now();
    };
    const margin = Math.min(EARLIEST, Math.max(MARGIN, left() * share));
    while (!over.aborted && left() > margin) await statuses.next(left() - margin, over);
  }

  /**
   * Makes the submission as soon as the issues suffice; `null` if the epoch is over or nothing can
   * be written down, `undefined` if they never do.
   */
  private async compose(
    epoch: number,
    issues: (Uint8Array | undefined)[],
    due: AbortSignal,
    over: AbortSignal,
  ): Promise<Submission | null | undefined> {
    const { believed } = this.world.statuses;
    let full = false;
    while (full ? !over.aborted : !due.aborted) {
      try {
        return await this.world.device.submission(epoch, issues);
      } catch (error) {
        // Not enough, or contradictory, so far: another answer may decide. Where there is no room
        // to write down what is to be handed in, none does, and no server is to blame: there may be
        // room soon, and the epoch is tried to its end.
        full = error instanceof StorageFull;
        if (!full && issues.filter(Boolean).length >= believed) await this.askAgain(epoch, issues);
      }
      await this.world.clock.sleep(POLL, full ? over : due);
    }
    return full ? null : undefined;
  }

  /**
   * Servers that have not heard of the same assignments yet name different slots; they will agree.
   */
  private async askAgain(epoch: number, issues: (Uint8Array | undefined)[]): Promise<void> {
    const { room, servers, device } = this.world;
    const again = servers.map(async (server, party) => {
      if (!issues[party]) return;
      const request = device.signIssueRequest(epoch, party);
      issues[party] = await server.issue(room, epoch, request).catch(() => issues[party]);
    });
    await Promise.all(again);
  }

  /**
   * Hands the same bytes to every server, again and again until the epoch is over, however long
   * there is no network. Whether so many have taken them that one is honest; the others go on being
   * tried.
   */
  private handIn(epoch: number, submission: Submission, over: AbortSignal): Promise<boolean> {
    const { room, servers, device, clock } = this.world;
    const { believed } = this.world.statuses;
    const to = async (server: Server): Promise<boolean> => {
      while (!over.aborted) {
        try {
          await server.submit(room, epoch, { key: device.publicKey, ...submission });
          return true;
        } catch (error) {
          // A refusal stands, except where the server has not heard of the slot yet.
          if (error instanceof Problem && error.status !== 404 && error.status < 429) return false;
        }
        await clock.sleep(POLL, over);
      }
      return false;
    };
    return new Promise((resolve) => {
      let taken = 0;
      const all = servers.map(async (server) => {
        if ((await to(server)) && ++taken === believed) resolve(true);
      });
      void Promise.all(all).then(() => resolve(false));
    });
  }

  /**
   * Asks the home for what it gives to this participant's slot. `elsewhere` if it gives none since
   * others came first, and another server has fewer participants; or if it gives none for so long
   * that it may be keeping this participant out.
   */
  private async place(
    epoch: number,
    home: number,
    due: AbortSignal,
  ): Promise<Uint8Array | undefined | 'elsewhere'> {
    const { statuses, clock, seconds } = this.world;
    const done = new AbortController();
    const until = AbortSignal.any([due, done.signal]);
    const starved = async () => {
      const longest = Math.min(LONGEST_WAIT, (seconds * 1000) / 3) + ARRIVING;
      do await clock.sleep(longest, until);
      while (!until.aborted && this.wasAway());
      if (until.aborted) return undefined;
      this.shunned.parties.add(home);
      return 'elsewhere' as const;
    };
    const crowded = async () => {
      await clock.sleep(CROWDED, until);
      while (!until.aborted) {
        // What servers tell of themselves is not news to them when somebody comes.
        await statuses.refresh(until);
        if (!until.aborted && isCrowded(statuses.places(), home)) return 'elsewhere' as const;
        await clock.sleep(CROWDED, until);
      }
      return undefined;
    };
    const asking = this.ask(home, epoch, until);
    const found = await Promise.race([
      asking,
      crowded().then(async (said) => said ?? (await asking)),
      starved().then(async (said) => said ?? (await asking)),
    ]);
    done.abort();
    return found;
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
