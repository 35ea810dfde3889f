// A visit to a decision, as the visitor of the WASM module makes it: what is asked of the servers,
// what of that is believed, and when what was written down may leave is decided there.

import { t as common } from '../../../i18n/common';
import { t } from '../../../i18n/decision';
import { ended, type Clock } from '../../page/clock';
import type { DecisionMemory, DecisionVisitor } from '../../page/cryptography';
import { Driver } from '../../rooms/driver';
import { StorageFull } from '../../rooms/part/outbox';
import { Problem, type Server } from '../../servers/api';
import { LocalizedError } from '../../servers/localized';
import type { Rejection } from '../../servers/rejection';
import type { Outcome } from '../decision';

/** What a person does in a decision. */
export type Deed = 'accept' | 'answer' | 'remove' | 'cancel' | 'verified';

/** Why something is not done. */
export type Failure =
  | { kind: 'refused'; detail: string }
  | { kind: 'server'; status: number; detail: string }
  | { kind: 'away' | 'busy' | 'not-kept' };

/** How the visit gets on. */
export type News =
  | { at: 'verifying'; done: number; all: number }
  /** `said`: what a server says, if none shows the decision. */
  | { at: 'away'; said: { status: number; detail: string } | null }
  | { at: 'alone' | 'read' | 'not-kept' | 'signed' }
  | { at: 'refused'; doubt: Rejection }
  | { at: 'done'; deed: Deed }
  | { at: 'failed'; deed: Deed; failure: Failure };

/** How the visit stands. */
export interface Here {
  /** The public key of the account that takes part. */
  account: string;
  /** What is to be done, the first thing now. */
  wanted: Deed[];
  /** The answers that are on their way. */
  pending: number[] | null;
  receipt: unknown;
  /** Servers that are not believed any more. */
  distrusted: { party: number; doubt: Rejection }[];
  /** Why servers do not open what is closed, in English. */
  refusals: { party: number; detail: string }[];
  outcome: Outcome | null;
  unresolved: Rejection | null;
}

export interface Onlooker {
  /**
   * Lets something be done with what this device remembers, and writes it down. Whether it is
   * written down.
   */
  keep(act: (memory: DecisionMemory) => void): boolean | Promise<boolean>;
  told(news: News): void;
  /** Called after everything that happens. */
  looked(): void;
}

type Action = { do: 'keep' } | ({ do: 'tell' } & News);

/** Drives a visitor until `signal` aborts. */
export class Visiting {
  private readonly driver: Driver<Action>;

  constructor(
    readonly machine: DecisionVisitor,
    servers: Pick<Server, 'carry'>[],
    clock: Clock,
    private readonly signal: AbortSignal,
    private readonly onlooker: Onlooker,
  ) {
    const actions = () => machine.actions();
    this.driver = new Driver(machine, servers, clock, signal, actions, (action) => {
      if (action?.do === 'keep') void this.keep();
      else if (action) onlooker.told(action);
      else onlooker.looked();
    });
    void ended(signal).then(() => machine.free());
  }

  /** Lets something happen to the machine, and tells what follows from it. */
  happened(what: (now: number) => void): void {
    this.driver.happened(what);
  }

  /** How the visit stands: JSON of {@link Here}. */
  here(): string {
    return this.machine.here();
  }

  private async keep(): Promise<void> {
    const { machine, signal } = this;
    const written = await this.onlooker.keep((memory) => {
      if (!signal.aborted) machine.keep(memory);
    });
    this.happened((now) => machine.kept(now, written));
  }
}

/** Why something was not done, as an error. */
export function errorOf(failure: Failure): Error {
  switch (failure.kind) {
    case 'refused':
      return new Error(failure.detail);
    case 'server':
      return new Problem(failure.status, failure.detail);
    case 'away':
      return new LocalizedError(common.refusal.away);
    case 'busy':
      return new LocalizedError(t.busy);
    case 'not-kept':
      return new StorageFull(common.refusal.full);
  }
}
