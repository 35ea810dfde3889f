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
  | { kind: 'server'; status: number; detail: string }
  | { kind: 'away' | 'altered' | 'not-kept' };

type Action =
  { do: 'keep' | 'forget' | 'begun' | 'shown' | 'late' } | { do: 'failed'; failure: Failure };

/** What this device keeps of a decision that it begins. */
export interface Keeper {
  /** Writes down what must not be lost, before there is the decision. */
  keep(): Promise<void>;
  /** Forgets that again: there will be no such decision. */
  forget(): Promise<void>;
}

/**
 * Has a machine begin a decision, until so many servers show it that one of them is honest. Throws
 * why it was not begun, or that they do not show it yet.
 */
export async function beginBy(
  machine: DecisionBeginning,
  servers: Pick<Server, 'carry'>[],
  keeper: Keeper,
  clock: Clock,
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
    else if (action && action.do !== 'begun') {
      ends.push(action);
      over.abort();
    }
  };
  const actions = () => machine.actions();
  const driver = new Driver<Action>(machine, servers, clock, over.signal, actions, act);
  driver.happened((now) => machine.wake(now));
  await ended(over.signal);
  machine.free();
  await forgotten;
  const [end] = ends;
  if (unkept !== null) throw unkept;
  if (end?.do !== 'shown') throw errorOf(end);
}

function errorOf(end: Action | undefined): Error {
  if (end?.do === 'late') return new LocalizedError(t.unreachable);
  if (end?.do !== 'failed') return new Error(end?.do);
  const { failure } = end;
  switch (failure.kind) {
    case 'server':
      return new Problem(failure.status, failure.detail);
    case 'away':
      return new LocalizedError(common.refusal.away);
    case 'layer':
      return new Error(`server ${failure.party} gave a layer key that is not its own`);
    case 'altered':
      return new Error('the server has made another decision than was asked for');
    case 'refused':
      return new Error(failure.detail);
    case 'not-kept':
      return new Error(failure.kind);
  }
}
