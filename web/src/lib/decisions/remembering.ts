// What this browser has seen of a decision and done in it, against what the servers show now.

import type { Account } from './account';
import type { DecisionVisit, DeviceKey } from '../page/cryptography';
import { readReceipt, type Receipt } from './decision';
import { rejectionOf } from '../servers/rejection';
import { Refused } from './reading';

/** What compares a history with a memory. */
type Comparer = Pick<DecisionVisit, 'remember' | 'confirmed' | 'finding'>;

export interface Remembered {
  receipt: Receipt | null;
  /** The answers that are on their way. */
  pending: number[] | null;
}

/**
 * Checks that the history continues what this browser has seen, and takes note of it. Throws {@link
 * Refused} if it does not; a storage that is full is no fault of any server, and stays the error
 * that it is. `acting` is the account under which this browser takes part.
 */
export function remember(
  visit: Comparer,
  account: Account,
  acting: DeviceKey,
  decision: string,
): Promise<Remembered> {
  return account.withMemory((memory) => {
    try {
      visit.remember(acting, memory);
    } catch (error) {
      throw new Refused(rejectionOf(error, visit));
    }
    const receipt = visit.confirmed(acting, memory);
    const pending = memory.pending(decision);
    return {
      receipt: receipt === undefined ? null : readReceipt(receipt),
      pending: pending ? [...pending] : null,
    };
  });
}
