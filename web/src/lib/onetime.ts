// One-time keys: each decision takes one of each person, so that nothing of one decision can be used in another.

import type { Account } from './account';
import { toBase64 } from './api';
import { NewDecisionKey, stockOfKeys, type Deployment } from './cryptography';
import type { DecisionServer } from './decisions';

/** The threshold of keys that are handed in beforehand. */
const STOCK_THRESHOLD = 2;
/** Keys made in one go: a server takes only so many at a time. */
const MOST = 8;

/** A key that `threshold` of the servers can stand in for; with 0 none holds anything of it. `servers` by party. */
export async function freshKey(deployment: Deployment, servers: DecisionServer[], account: Account, threshold: number): Promise<Uint8Array> {
  const holders = threshold === 0 ? [] : servers;
  const helpers = await Promise.all(holders.map((server) => server.helper()));
  const key = new NewDecisionKey(deployment, account.key, threshold, `[${helpers.join(',')}]`);
  try {
    const receipts = await Promise.all(holders.map((server, party) => server.deposit(key.deposit(party) ?? new Uint8Array())));
    return key.certify(account.key, JSON.stringify(receipts));
  } finally {
    key.free();
  }
}

/** Brings the stock at server 0 up to what it wants, so that this account can be asked while it is away. */
export async function refill(deployment: Deployment, servers: DecisionServer[], account: Account): Promise<void> {
  const [first] = servers;
  if (!first) return;
  const name = account.key.publicKey();
  const { stock, wanted } = await first.stock(name);
  const keys: string[] = [];
  for (let made = stock; made < Math.min(wanted, stock + MOST); made++) {
    keys.push(toBase64(await freshKey(deployment, servers, account, STOCK_THRESHOLD)));
  }
  if (keys.length > 0) await first.addToStock(name, stockOfKeys(JSON.stringify(keys)));
}
