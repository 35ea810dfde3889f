// Whom a creator asks: itself, people it knows, and a list.

import type { Acquaintance } from '../../lib/decisions/account';
import { guestsIn, type Guest } from '../../lib/decisions/asking/guests';
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

/**
 * Digits of an account's code that stand beside a name, and in steps of how many there are more if
 * those do not differ.
 */
const [DIGITS, STEP] = [8, 4];

/** Names that look alike are one name to whoever reads them. */
const look = (name: string) =>
  name
    .normalize('NFKC')
    .replace(/[\s\p{Cf}]+/gu, '')
    .toLowerCase();

/**
 * People as they are listed. A name is what some creator has called an account: where several have
 * it, the first digits of their codes tell them apart; otherwise `code` is empty.
 */
export function listed(known: Acquaintance[]): (Acquaintance & { code: string })[] {
  return known.map(({ name, account }) => {
    const others = known.filter(
      (other) => other.account !== account && look(other.name) === look(name),
    );
    if (others.length === 0) return { name, account, code: '' };
    let digits = DIGITS;
    while (
      digits < account.length &&
      others.some((other) => other.account.startsWith(account.slice(0, digits)))
    )
      digits += STEP;
    return { name, account, code: (account.slice(0, digits).match(/.{1,4}/g) ?? []).join(' ') };
  });
}

/** What a listed person is called: nobody has another one's name. */
export const calledBy = ({ name, code }: { name: string; code: string }): string =>
  code === '' ? name : `${name} (${code})`;

/** Everybody who is asked. `own` is the creator's account. */
export function guestsOf(
  { way, me, myName, accounts, list }: Invitees,
  known: Acquaintance[],
  own: string,
): Guest[] {
  const self = me ? [{ name: normalised(myName), account: own, address: null }] : [];
  const asked = listed(known).filter(({ account }) => accounts.includes(account));
  const met = asked.map((person) => ({
    name: calledBy(person),
    account: person.account,
    address: null,
  }));
  return [...self, ...met, ...(way === 'list' ? guestsIn(list).guests : [])];
}

/** Whether everybody has a name and nobody has another one's. */
export function areNamed(guests: Guest[]): boolean {
  const names = guests.map(({ name }) => name);
  return names.every((name) => name !== '') && new Set(names).size === names.length;
}
