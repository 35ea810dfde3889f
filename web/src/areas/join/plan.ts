// What a creator has planned, and whom it has taken in.

import type { Acquaintance, Joining } from '../../lib/decisions/account';
import type { Wish } from '../../lib/decisions/asking/draft';
import type { Guest } from '../../lib/decisions/asking/guests';
import { calledApart } from '../../lib/decisions/asking/names';
import type { Policy } from '../../lib/hosts/hosting';
import type { Asking } from './joining.svelte';
import { normalised } from '../../lib/page/text';

/** As the form was filled in. It is kept in this browser only, which wrote it. */
export interface Plan {
  wish: Wish;
  /** Who takes part without the link: the creator, and people it knows. */
  guests: Guest[];
  policy: Policy['create'];
}

/** Requests that are shown, and taken in, at once: more than that nobody compares. */
export const atOnce = 50;

export function readPlan(text: string | null): Plan | null {
  try {
    return text === null ? null : (JSON.parse(text) as Plan);
  } catch {
    return null;
  }
}

type Answers = Pick<Joining, 'admitted' | 'refused'>;

/** With these people taken in. */
export function withAdmitted({ admitted, refused }: Answers, people: Asking[]): Answers {
  const accounts = people.map(({ account }) => account);
  const others = admitted.filter(({ account }) => !accounts.includes(account));
  const fresh = people.map(({ name, account }) => ({ name, account }));
  return {
    admitted: [...others, ...fresh],
    refused: refused.filter((account) => !accounts.includes(account)),
  };
}

/** With these accounts refused, whether they were taken in before or not. */
export function withRefused({ admitted, refused }: Answers, accounts: string[]): Answers {
  return {
    admitted: admitted.filter(({ account }) => !accounts.includes(account)),
    refused: [...new Set([...refused, ...accounts])],
  };
}

/**
 * Everybody who will be asked. Names that look alike are told apart by the digits that were
 * compared.
 */
export function company(
  guests: Guest[],
  admitted: Acquaintance[],
  digits: (account: string) => string,
): Guest[] {
  const joined = admitted.map(({ name, account }) => ({ name: normalised(name), account }));
  const code = (account: string) => digits(account).replaceAll(' ', '') || account;
  const told = calledApart([
    ...guests.map(({ name }) => ({ name, code: '' })),
    ...joined.map(({ name, account }) => ({ name, code: code(account) })),
  ]).slice(guests.length);
  return [
    ...guests,
    ...joined.map(({ name, account }, place) => ({
      name: told[place]?.called ?? name,
      account,
      address: null,
    })),
  ];
}

/** The wish, with a time to accept that is still to come: whoever asked has left a key. */
export function inTime(wish: Wish, now: number): Wish {
  const [until, end] = [new Date(wish.acceptBy).getTime(), new Date(wish.deadline).getTime()];
  if (until > now || end <= now) return wish;
  const middle = new Date(now + (end - now) / 2);
  const local = new Date(middle.getTime() - middle.getTimezoneOffset() * 60_000);
  return { ...wish, acceptBy: local.toISOString().slice(0, 19) };
}
