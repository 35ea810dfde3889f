// The stock of one-time keys that lets others ask this account while it is away, filled as the WASM
// module says.

import type { Account } from './account';
import { errorOf, type Failure } from './deciding/visiting';
import { ended, systemClock, type Clock } from '../page/clock';
import { beginFilling, type Deployment, type KeyStock } from '../page/cryptography';
import { Driver } from '../rooms/driver';
import type { Server } from '../servers/api';

type Filling = { do: 'full'; added: number } | { do: 'failed'; failure: Failure };

const never = new AbortController().signal;

/**
 * Has a machine fill a stock, until `signal` aborts. Returns what was added, or throws why no more
 * can be now; what was handed in before stays.
 */
export async function fill(
  machine: KeyStock,
  servers: Pick<Server, 'carry'>[],
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  const over = new AbortController();
  const ends: Filling[] = [];
  const until = AbortSignal.any([signal, over.signal]);
  const actions = () => machine.actions();
  const driver = new Driver<Filling>(machine, servers, clock, until, actions, (filling) => {
    if (!filling) return;
    ends.push(filling);
    over.abort();
  });
  driver.happened((now) => machine.wake(now));
  await ended(until);
  machine.free();
  const [end] = ends;
  if (end?.do === 'failed') throw errorOf(end.failure);
  return end?.added ?? 0;
}

/**
 * Fills the account's stock at server 0, so that it can be asked while it is away; with `most`,
 * only up to so many keys. One tab at a time does it. `servers` by party.
 */
export async function refill(
  deployment: Deployment,
  servers: Pick<Server, 'carry'>[],
  account: Pick<Account, 'key'>,
  signal: AbortSignal = never,
  most?: number,
  clock: Clock = systemClock,
): Promise<void> {
  await navigator.locks.request('ostrakon/stock', () =>
    fill(beginFilling(deployment, account.key, most), servers, clock, signal),
  );
}
