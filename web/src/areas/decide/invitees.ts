// Whom a creator asks: itself, people it knows, and a list.

import type { Acquaintance } from '../../lib/decisions/account';
import { guestsIn, type Guest } from '../../lib/decisions/asking/guests';
import { calledApart } from '../../lib/decisions/asking/names';
import { normalised } from '../../lib/page/text';

/** How people who are not known come in: by one link for all, or each by their own. */
export type Way = 'link' | 'list';

export interface Invitees {
  way: Way;
  /** The creator decides, too. */
  me: boolean;
  myName: string;
  /** Accounts from the address book. */
  accounts: string[];
  /** As it was pasted. */
  list: string;
}

/** Somebody who is known, with digits beside the name if those are needed to tell it apart. */
export interface Listed extends Acquaintance {
  code: string;
  /** The name with the digits. */
  called: string;
}

/** People as they are listed. A name is what some creator has called an account. */
export function listed(known: Acquaintance[]): Listed[] {
  const told = calledApart(known.map(({ name, account }) => ({ name, code: account })));
  return known.map(({ name, account }, place) => {
    const { code, called } = told[place] ?? { code: '', called: name };
    return { name, account, code, called };
  });
}

/** Everybody who is asked. `own` is the creator's account. */
export function guestsOf(
  { way, me, myName, accounts, list }: Invitees,
  known: Acquaintance[],
  own: string,
): Guest[] {
  const self = me ? [{ name: normalised(myName), account: own, address: null }] : [];
  const asked = listed(known).filter(({ account }) => accounts.includes(account));
  const met = asked.map(({ called, account }) => ({ name: called, account, address: null }));
  return [...self, ...met, ...(way === 'list' ? guestsIn(list).guests : [])];
}
