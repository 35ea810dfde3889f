// Follows a room: what its servers say, what its hosts did, and its wall. What is asked for, when,
// and of whom, and whether what comes holds, is decided by the follower of the WASM module.

import type { Server, Status } from '../../servers/api';
import type { Clock } from '../../page/clock';
import type { Follower } from '../../page/cryptography';
import { Driver } from '../driver';

/** One server's latest word. */
export interface Report {
  /** `null` before the first answer or failure. */
  reachable: boolean | null;
  /** Its last status; stale while it is not reachable. */
  status: Status | null;
  /** When that came, by this device's clock. */
  came: number;
  /** When the epoch that collects is sealed, by this device's clock; `null` if that is open. */
  sealsAt: number | null;
}

/** What is known of the servers. */
export interface Words {
  readonly reports: readonly Report[];
  /** Calls `listener` at every word of a server, or its silence, until `signal` aborts. */
  listen(listener: (party: number) => void, signal: AbortSignal): void;
}

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

/** What newly read entries are and mean. */
export interface Reading {
  entries: WallEntry[];
  /** The device's own message is among them, or may be among what is erased of them. */
  published: boolean;
  /** It is not among what can be read. */
  erased: boolean;
  /** The device's own message goes into a later epoch. */
  again: boolean;
}

/** What the follower tells; lists are as the device keeps them. */
export type Sight =
  | { do: 'heard'; party: number; report: Report }
  | { do: 'actions'; from: number; actions: unknown[] }
  | { do: 'entries'; from: number; entries: unknown[] }
  | { do: 'forged'; party: number; why: string }
  | { do: 'informed' }
  | { do: 'caught-up' };

export interface Onlooker {
  saw(sight: Sight): void;
  /** Called after everything that happens. */
  looked(): void;
  /** Whether the device keeps the wall. */
  keeps(): boolean;
}

export class Following implements Words {
  readonly reports: Report[];
  private readonly listeners = new Set<(party: number) => void>();
  private readonly driver: Driver<Sight>;

  /** Begins, and goes on until `signal` aborts. */
  constructor(
    readonly machine: Follower,
    servers: Pick<Server, 'carry'>[],
    clock: Clock,
    signal: AbortSignal,
    private readonly onlooker: Onlooker,
  ) {
    this.reports = servers.map(() => ({ reachable: null, status: null, came: 0, sealsAt: null }));
    const actions = () => machine.actions(onlooker.keeps());
    this.driver = new Driver(machine, servers, clock, signal, actions, (sight) => {
      if (sight) this.saw(sight);
      else onlooker.looked();
    });
  }

  /** Lets something happen to the machine, and tells what follows from it. */
  happened(what: (now: number) => void): void {
    this.driver.happened(what);
  }

  private saw(sight: Sight): void {
    if (sight.do === 'heard') {
      this.reports[sight.party] = sight.report;
      for (const listener of [...this.listeners]) listener(sight.party);
    }
    this.onlooker.saw(sight);
  }

  listen(listener: (party: number) => void, signal: AbortSignal): void {
    this.listeners.add(listener);
    signal.addEventListener('abort', () => this.listeners.delete(listener), { once: true });
  }
}

/**
 * When epoch `number` is sealed, by this device's clock; `null` if that is open. It is sealed when
 * the last server's clock has run out. One server alone is not believed: of three, what the one
 * says that is neither the first nor the last.
 */
export function closingOf(reports: readonly Report[], number: number): number | null {
  const said = reports
    .filter(({ reachable, status }) => reachable && status?.epoch?.number === number)
    .flatMap(({ sealsAt }) => (sealsAt === null ? [] : [sealsAt]))
    .sort((a, b) => a - b);
  return said[Math.floor(said.length / 2)] ?? null;
}
