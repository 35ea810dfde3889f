// Reads a list on that every server serves, from whichever has more of it, and believes nothing
// unverified.

import type { Server, Status } from '../../servers/api';
import type { Statuses } from './statuses';

/** What is followed. */
export interface Source {
  /** Items that a server says it has. */
  promised(status: Status): number;
  fetch(server: Server, from: number, signal: AbortSignal): Promise<unknown[]>;
  /** Items read so far. */
  length(): number;
  /** Verifies items and takes them in; throws what is wrong with them. */
  take(items: unknown[]): void;
  /**
   * How much an item lacks that nothing known explains. What may go verifies with it or without, so
   * a server could keep it back: another one is asked.
   */
  lack?(item: unknown): number;
}

/** An item, and who showed it. */
interface Shown {
  party: number;
  item: unknown;
  lack: number;
}

/** Server `party` showed something that does not verify. */
export type Alarm = (party: number, reason: string) => void;

const PAUSE = 2_000;
/**
 * Milliseconds for which items that lack something are held back, all together, until every server
 * that answers has shown them.
 */
const HELD = 10_000;
/** Milliseconds after which an answer is slow. */
const SLOW = 2_000;
/**
 * Milliseconds without anything new after which what one server promises, or another one may have,
 * is not waited for.
 */
const AWAITED = 10_000;

export class Follower {
  /** Servers that have shown something forged are not asked again. */
  private readonly distrusted = new Set<number>();
  /** Since when something is held back; `null` again once everything is read that anybody shows. */
  private since: number | null = null;
  /** Servers whose last answer came late or was none: the others are asked first. */
  private readonly slow = new Set<number>();
  /**
   * The server that gave something last: so that nobody who gives little at a time holds up the
   * others, they have their turns first.
   */
  private last = -1;
  /** When something was read last, or a server answered first. */
  private moved: number | null = null;

  constructor(
    private readonly servers: Server[],
    private readonly statuses: Statuses,
    private readonly source: Source,
    private readonly alarm: Alarm,
  ) {}

  /**
   * Reads on until `signal` aborts; `looked` is called after every look at what the servers say.
   */
  async follow(signal: AbortSignal, looked: () => void = () => undefined): Promise<void> {
    while (!signal.aborted) {
      const progressed = await this.readOn(signal);
      if (signal.aborted) return;
      looked();
      if (progressed) {
        this.moved = this.statuses.now();
        this.statuses.wake();
      } else await this.statuses.next(PAUSE, signal);
    }
  }

  /**
   * Whether everything is read that there is, as far as can be told. Where so many servers promise
   * more that one of them is honest, there is more. Where none does, as many have to say so, once
   * every server has answered or failed to. For anything else nobody waits for ever, once whoever
   * promises more was asked in vain: one server can promise what it does not have, and be silent.
   */
  caughtUp(): boolean {
    const answering = this.answering();
    if (answering.length === 0) {
      // Whoever comes back has the whole time again.
      this.moved = null;
      return false;
    }
    const now = this.statuses.now();
    this.moved ??= now;
    const more = answering.filter((party) => this.promised(party) > this.source.length());
    const { believed } = this.statuses;
    if (more.length >= believed) return false;
    if (more.length === 0 && answering.length >= believed && this.statuses.complete()) return true;
    return now - this.moved >= AWAITED && more.every((party) => this.slow.has(party));
  }

  private async readOn(signal: AbortSignal): Promise<boolean> {
    for (const party of this.answering()) {
      const length = this.source.length();
      if (this.promised(party) <= length) continue;
      const items = await this.fetch(party, length, signal);
      const shown = await this.compared(party, length, items, signal);
      if (signal.aborted) return false;
      // What is held back was compared with what everybody shows: whoever is asked next shows no
      // more of it.
      if (items.length > 0 && shown.length === 0) return false;
      // Whoever acts here reads too: what came in meanwhile is not read twice, or it would look
      // like a second history.
      const read = this.source.length() - length;
      if (shown.length > 0 && this.take(shown.slice(read))) {
        this.last = party;
        return true;
      }
    }
    // Everything is read that anybody shows. What comes later has a wait of its own.
    this.since = null;
    return false;
  }

  /** Servers that answer and have shown nothing forged, in the order in which they are asked. */
  private answering(): number[] {
    const all = this.servers.length;
    const parties = this.statuses.reports.map((_, party) => party);
    const there = parties.filter(
      (party) =>
        this.statuses.reports[party]?.reachable &&
        this.servers[party] &&
        !this.distrusted.has(party),
    );
    const turn = (party: number) =>
      (this.slow.has(party) ? all : 0) + ((party - this.last - 1 + all) % all);
    return there.sort((a, b) => turn(a) - turn(b));
  }

  private promised(party: number): number {
    const status = this.statuses.reports[party]?.status;
    return status ? this.source.promised(status) : 0;
  }

  private async fetch(party: number, from: number, signal: AbortSignal): Promise<unknown[]> {
    const server = this.servers[party];
    const asked = this.statuses.now();
    // As long as it is asked it may yet give what it promises.
    this.slow.delete(party);
    const items = server ? await this.source.fetch(server, from, signal).catch(() => []) : [];
    if (items.length === 0 || this.statuses.now() - asked >= SLOW) this.slow.add(party);
    return items;
  }

  /**
   * What `party` shows from place `from` on; where it lacks something, as the server shows it that
   * lacks least.
   */
  private async compared(
    party: number,
    from: number,
    items: unknown[],
    signal: AbortSignal,
  ): Promise<Shown[]> {
    const lack = (item: unknown) => this.source.lack?.(item) ?? 0;
    const shown = items.map((item): Shown => ({ party, item, lack: lack(item) }));
    /** Places up to which everybody who shows something shows it on one page. */
    let comparable = Infinity;
    let silent = false;
    for (const other of this.answering()) {
      if (shown.every((one) => one.lack === 0)) return shown;
      if (other === party) continue;
      const theirs = this.promised(other) > from ? await this.fetch(other, from, signal) : [];
      for (const [place, item] of theirs.entries()) {
        const before = shown[place];
        if (before && lack(item) < before.lack)
          shown[place] = { party: other, item, lack: lack(item) };
      }
      if (theirs.length === 0) silent = true;
      else comparable = Math.min(comparable, theirs.length);
    }
    const held = silent && shown.some((one) => one.lack > 0) && this.holds();
    const lacking = shown.findIndex((one, place) => one.lack > 0 && (held || place >= comparable));
    return lacking < 0 ? shown : shown.slice(0, lacking);
  }

  /**
   * Whether what lacks something is held back: a server that has shown nothing yet may have the
   * rest of it. It has one wait for everything that is there to be read, or it would delay each
   * item anew.
   */
  private holds(): boolean {
    const now = this.statuses.now();
    this.since ??= now;
    return now - this.since < HELD;
  }

  /**
   * Takes items in, in runs of one server each. Whether it got on: by items, or by a server that is
   * not asked again.
   */
  private take(shown: Shown[]): boolean {
    for (let rest = shown; rest.length > 0;) {
      const party = rest[0]?.party ?? 0;
      const end = rest.findIndex((one) => one.party !== party);
      const run = end < 0 ? rest : rest.slice(0, end);
      try {
        this.source.take(run.map(({ item }) => item));
      } catch (error) {
        this.distrusted.add(party);
        this.alarm(party, error instanceof Error ? error.message : String(error));
        break;
      }
      rest = rest.slice(run.length);
    }
    return true;
  }
}
