// Begins a decision, as the machine of the WASM module does it: which operators are asked for their
// layers, when the invitations are to be kept, and when the decision counts as begun is decided
// there, as for the command line.

import { t as common } from '../../i18n/common';
import { t } from '../../i18n/decide';
import { ended, type Clock } from '../page/clock';
import type { DecisionBeginning } from '../page/cryptography';
import { Driver } from '../rooms/driver';
import { Problem, type Server } from '../servers/api';
import { LocalizedError } from '../servers/localized';

type Failure =
  | { kind: 'refused'; detail: string }
  | { kind: 'layer'; party: number }
  | { kind: 'server'; party: number; status: number; detail: string }
  | { kind: 'away'; party: number }
  | { kind: 'altered' | 'not-kept' };

type Action =
  | { do: 'keep' | 'forget' | 'stocked' | 'begun' | 'shown' | 'late' }
  | { do: 'failed' | 'doubtful'; failure: Failure };

/** It is not known whether there is the decision, which this device keeps. */
export class PerhapsBegun extends Error {
  constructor(readonly why: Error) {
    super(why.message);
  }
}

/** What this device keeps of a decision that it begins. */
export interface Keeper {
  /** Writes down what must not be lost, before there is the decision. */
  keep(): Promise<void>;
  /** Forgets that again: there will be no such decision. */
  forget(): Promise<void>;
}

/** One of the servers. */
interface Operator {
  name: string;
  api: Pick<Server, 'carry'>;
}

/**
 * Has a machine begin a decision, until so many servers show it that one of them is honest.
 * `stocked` is called once nothing more is done at the creator's stock. Throws why it was not
 * begun; {@link PerhapsBegun} if it may have been, or they do not show it yet.
 */
export async function beginBy(
  machine: DecisionBeginning,
  operators: Operator[],
  keeper: Keeper,
  clock: Clock,
  stocked: () => void = () => undefined,
): Promise<void> {
  const over = new AbortController();
  const ends: Action[] = [];
  let forgotten = Promise.resolve();
  let unkept: unknown = null;
  const keep = async () => {
    await keeper.keep().catch((error: unknown) => (unkept = error));
    driver.happened((now) => machine.kept(now, unkept === null));
  };
  const act = (action: Action | null) => {
    if (action?.do === 'keep') void keep();
    else if (action?.do === 'forget') forgotten = keeper.forget();
    else if (action?.do === 'stocked') stocked();
    else if (action && action.do !== 'begun') {
      ends.push(action);
      over.abort();
    }
  };
  const actions = () => machine.actions();
  const servers = operators.map(({ api }) => api);
  const driver = new Driver<Action>(machine, servers, clock, over.signal, actions, act);
  driver.happened((now) => machine.wake(now));
  await ended(over.signal);
  machine.free();
  await forgotten;
  const [end] = ends;
  if (unkept !== null) throw unkept;
  if (end?.do !== 'shown') throw errorOf(end, operators);
}

/**
 * Has a decision begun by `begin`, which calls `stocked` once it is done with the creator's stock.
 * Until then no other tab of this browser fills that; to wait for another one that does would be of
 * no use, since this adds one key at most.
 */
export async function beginWithStock(begin: (stocked: () => void) => Promise<void>): Promise<void> {
  let begun = Promise.resolve();
  await navigator.locks.request('ostrakon/stock', { ifAvailable: true }, async () => {
    await new Promise<void>((stocked) => {
      begun = begin(stocked);
      begun.then(stocked, () => stocked());
    });
  });
  await begun;
}

function errorOf(end: Action | undefined, operators: Operator[]): Error {
  if (end?.do === 'late') return new PerhapsBegun(new LocalizedError(t.unreachable));
  if (end?.do === 'doubtful') return new PerhapsBegun(reasonFor(end.failure, operators));
  return end?.do === 'failed' ? reasonFor(end.failure, operators) : new Error(end?.do);
}

function reasonFor(failure: Failure, operators: Operator[]): Error {
  const name = (party: number) => operators[party]?.name ?? `P${party}`;
  switch (failure.kind) {
    case 'server':
      return new Problem(failure.status, failure.detail);
    case 'away':
      return new LocalizedError(common.refusal.awayFrom(name(failure.party)));
    case 'layer':
      return new LocalizedError(t.notBegun.layer(name(failure.party)));
    case 'altered':
      return new LocalizedError(t.notBegun.altered);
    case 'refused':
      return new Error(failure.detail);
    case 'not-kept':
      return new Error(failure.kind);
  }
}
