// A host's own actions, as the machine of the WASM module does them: what is signed, which server
// is given it, when it is signed anew, and when it counts as done is decided there, as for the
// command line.

import { t as common } from '../../i18n/common';
import { ended, type Clock } from '../page/clock';
import type { HostLog, RoomHost } from '../page/cryptography';
import { Driver } from '../rooms/driver';
import { Problem, type Server } from '../servers/api';
import { LocalizedError } from '../servers/localized';
import { Declined } from '../servers/reason';
import type { PollForm, Target } from './hostlog';

/** What a host does, as it is signed. */
export type Deed =
  | { hide: { target: Target; hidden: boolean } }
  | { approve: { target: Target; approved: boolean } }
  | { pin: { target: Target; pinned: boolean } }
  | { answer: { target: Target; answered: boolean } }
  | { group: { target: Target; group: string | null } }
  | { erase: { target: Target } }
  | { poll: { poll: { question: string; form: PollForm; epoch: number } } }
  | { withdraw: { poll: number } }
  | { reveal: { poll: number; right: number[] } }
  | { spotlight: { target: Target | null } }
  | { host: { key: string; name: string; active: boolean } }
  | { admit: { keys: string[] } }
  | { invite: { keys: string[] } }
  | { dismiss: { keys: string[] } }
  | { moderate: { on: boolean } }
  | { minimum: { minimum: number } }
  | 'close'
  | 'erase-all';

/** Why something is not done. */
export type Failure =
  | { kind: 'declined'; code: string; detail: string }
  | { kind: 'server'; status: number; detail: string }
  | { kind: 'away' | 'busy' | 'given-up' };

type Action =
  | { do: 'decide' | 'done'; deed: number }
  | { do: 'keep' }
  | { do: 'failed'; deed: number; failure: Failure };

/** A deed that is not done yet. */
interface Wanted {
  deed: () => Deed;
  /** Why it could not be said what is to be done. */
  doubt?: unknown;
  done(): void;
  failed(error: unknown): void;
}

/** Acts in the name of one host, one action after the other. */
export class Actor {
  private readonly driver: Driver<Action>;
  private readonly wanted = new Map<number, Wanted>();
  private readonly over = new AbortController();
  private length: bigint;

  /** When `leaving` aborts, what is on its way is brought to an end, and that is all. */
  constructor(
    private readonly machine: RoomHost,
    servers: Pick<Server, 'carry'>[],
    private readonly log: Pick<HostLog, 'length'>,
    clock: Clock,
    private readonly leaving: AbortSignal,
    /** Called when the log has grown. */
    private readonly grown: () => void,
  ) {
    this.length = log.length();
    const actions = () => machine.actions();
    this.driver = new Driver(machine, servers, clock, this.over.signal, actions, (action) => {
      if (action) this.follow(action);
      else this.look();
    });
    void ended(leaving).then(() => this.rest());
    void ended(this.over.signal).then(() => machine.free());
  }

  /**
   * Does something, once; resolves when it is in the log. `deed` is asked anew whenever another
   * action had its place. Throws what the servers or the rules of the log have against it.
   */
  act(deed: () => Deed): Promise<void> {
    return new Promise((done, failed) => {
      this.driver.happened((now) => {
        this.wanted.set(this.machine.act(now), { deed, done, failed });
      });
    });
  }

  private follow(action: Action): void {
    switch (action.do) {
      case 'decide':
        return this.decide(action.deed);
      case 'keep':
        // Nothing is kept: whoever closes the page in the middle sees the log before acting again.
        return this.driver.happened((now) => this.machine.kept(now));
      case 'done':
        this.look();
        this.wanted.get(action.deed)?.done();
        break;
      case 'failed': {
        this.look();
        const wanted = this.wanted.get(action.deed);
        wanted?.failed(wanted.doubt ?? errorOf(action.failure));
      }
    }
    this.wanted.delete(action.deed);
    this.rest();
  }

  private decide(number: number): void {
    const wanted = this.wanted.get(number);
    let deed: string | undefined;
    try {
      deed = wanted && JSON.stringify(wanted.deed());
    } catch (error) {
      if (wanted) wanted.doubt = error;
    }
    this.driver.happened((now) => this.machine.decided(now, deed));
  }

  private look(): void {
    const length = this.log.length();
    if (length === this.length) return;
    this.length = length;
    this.grown();
  }

  private rest(): void {
    if (this.leaving.aborted && this.wanted.size === 0) this.over.abort();
  }
}

/** Why something was not done, as an error. */
export function errorOf(failure: Failure): Error {
  switch (failure.kind) {
    case 'declined':
      return new Declined(failure.code, failure.detail);
    case 'server':
      return new Problem(failure.status, failure.detail);
    case 'away':
      return new LocalizedError(common.refusal.away);
    case 'busy':
      return new Problem(409, 'other actions always come first');
    case 'given-up':
      return new Error('it was given up');
  }
}
