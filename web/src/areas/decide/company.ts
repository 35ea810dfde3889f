// Whom a creator asks: itself, people it knows, and a list.

import type { Acquaintance } from '../../lib/account';
import { guestsIn, type Guest } from '../../lib/guests';
import { normalised } from '../../lib/text';

export interface Company {
  /** The creator decides, too. */
  me: boolean;
  myName: string;
  /** Accounts from the address book. */
  accounts: string[];
  /** As it was pasted. */
  list: string;
}

/** Everybody who is asked. `own` is the creator's account. */
export function guestsOf({ me, myName, accounts, list }: Company, known: Acquaintance[], own: string): Guest[] {
  const self = me ? [{ name: normalised(myName), account: own, address: null }] : [];
  const met = known.filter(({ account }) => accounts.includes(account)).map(({ name, account }) => ({ name, account, address: null }));
  return [...self, ...met, ...guestsIn(list).guests];
}

/** Whether everybody has a name and nobody has another one's. */
export function areNamed(guests: Guest[]): boolean {
  const names = guests.map(({ name }) => name);
  return names.every((name) => name !== '') && new Set(names).size === names.length;
}
