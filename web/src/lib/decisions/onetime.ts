// One-time keys: each decision takes one of each person, so that nothing of one decision can be
// used in another.

import type { Account } from './account';
import { toBase64 } from '../servers/api';
import { systemClock, type Clock } from '../page/clock';
import {
  NewDecisionKey,
  keyExpiry,
  signStockRequest,
  stockOfKeys,
  type Deployment,
  type DeviceKey,
} from '../page/cryptography';
import type { DecisionServer, StockLevel } from './decisions';
import { retrying } from '../servers/retrying';

/** The threshold of keys that are handed in beforehand. */
const STOCK_THRESHOLD = 2;
/** Keys that are made at one visit at most. */
const MOST = 8;
/** Keys that are handed in together; what comes after them does not take them back. */
const BATCH = 2;
/**
 * Milliseconds between two keys: many devices behind one address fill their stocks at the same
 * time.
 */
const PACE = 300;

const never = new AbortController().signal;

const seconds = (clock: Clock): bigint => BigInt(Math.floor(clock.now() / 1000));

/**
 * A key of an account that `threshold` of the servers can stand in for; with 0 none holds anything
 * of it. They keep its shares for a while after `deadline` (seconds since 1970), or as long as they
 * do for a stock. `servers` by party.
 */
export async function freshKey(
  deployment: Deployment,
  servers: DecisionServer[],
  account: DeviceKey,
  { threshold, deadline }: { threshold: number; deadline: number | undefined },
  clock: Clock = systemClock,
  signal: AbortSignal = never,
): Promise<Uint8Array> {
  const holders = threshold === 0 ? [] : servers;
  const helpers = await Promise.all(
    holders.map((server) => retrying(() => server.helper(), clock, signal)),
  );
  const until = keyExpiry(deadline === undefined ? undefined : BigInt(deadline), seconds(clock));
  const key = new NewDecisionKey(deployment, account, threshold, until, `[${helpers.join(',')}]`);
  try {
    // The same deposit once more has the same receipt.
    const deposit = (server: DecisionServer, party: number) =>
      retrying(() => server.deposit(key.deposit(party) ?? new Uint8Array()), clock, signal);
    return key.certify(account, JSON.stringify(await Promise.all(holders.map(deposit))));
  } finally {
    key.free();
  }
}

/** A stock of keys at a server, and how one more is made. */
export interface Stock {
  level(): Promise<StockLevel>;
  make(): Promise<Uint8Array>;
  add(keys: Uint8Array[]): Promise<StockLevel>;
}

/**
 * Fills a stock up to what the server wants and to `most` keys, a few at a time and not too fast.
 * Returns what was added.
 */
export async function fill(
  stock: Stock,
  most: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  const level = await stock.level();
  const missing = Math.min(Math.min(level.wanted, most) - level.stock, MOST);
  let added = 0;
  while (added < missing && !signal.aborted) {
    const keys: Uint8Array[] = [];
    while (keys.length < BATCH && added + keys.length < missing) {
      if (added + keys.length > 0) await clock.sleep(PACE, signal);
      if (signal.aborted) break;
      keys.push(await stock.make());
    }
    if (keys.length > 0) await stock.add(keys);
    added += keys.length;
  }
  return added;
}

/**
 * Fills the account's stock at server 0, so that it can be asked while it is away; with `most`,
 * only up to so many keys. One tab at a time does it.
 */
export async function refill(
  deployment: Deployment,
  servers: DecisionServer[],
  account: Pick<Account, 'key'>,
  signal: AbortSignal = never,
  most = Infinity,
  clock: Clock = systemClock,
): Promise<void> {
  const [first] = servers;
  if (!first) return;
  const name = account.key.publicKey();
  const stock: Stock = {
    level: () => {
      const time = seconds(clock);
      const signature = signStockRequest(deployment, account.key, time);
      return retrying(() => first.stock(name, time, signature), clock, signal);
    },
    make: () =>
      freshKey(
        deployment,
        servers,
        account.key,
        { threshold: STOCK_THRESHOLD, deadline: undefined },
        clock,
        signal,
      ),
    add: (keys) =>
      retrying(
        () => first.addToStock(name, stockOfKeys(JSON.stringify(keys.map(toBase64)))),
        clock,
        signal,
      ),
  };
  await navigator.locks.request('ostrakon/stock', () => fill(stock, most, clock, signal));
}
