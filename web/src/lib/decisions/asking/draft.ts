// What a creator fills in, and how the WASM module is told: that makes the draft of it, and knows
// what is wrong with it, as for the command line.

import { t } from '../../../i18n/decide';
import type { Rule, RuleName } from '../decision';
import { orderOf, spanLabel, spanOf, type Span } from '../decision';
import {
  draftFlaw,
  draftLimits,
  makeDraft,
  quorums,
  type Deployment,
  type DeviceKey,
} from '../../page/cryptography';
import { count, list, optional, record, text, type Of } from '../../servers/shape';
import type { Guest } from './guests';

export type Topic = 'question' | 'dates';

/** What a creator fills in. */
export interface Wish {
  topic: Topic;
  question: string;
  /** Answers; where a rule counts one of two, it is the second one. */
  options: string[];
  /**
   * Local points of time, or days, as the browser's fields give them; behind a slash the end, or
   * the
   * last day, if there is one.
   */
  dates: string[];
  /** Of dates in a full count: whether “if need be” is an answer, too. */
  needBe: boolean;
  rule: RuleName;
  /** How many are enough, for `at-least`. */
  enough: number;
  tie: 'first' | 'none';
  /** One output for each row of the table, for `custom`. */
  outputs: number[];
  /** The option that counts for whoever stays away. */
  assumed: number;
  /** Until when to accept; local. */
  acceptBy: string;
  /** Whether it ends without a result if somebody has not accepted by then. */
  allNeeded: boolean;
  /** How many must answer for a result; `null` for the usual number. */
  quorum: number | null;
  /** Local. */
  deadline: string;
  /** How many operators can stand in for whoever stays away; with 0 none can. */
  threshold: 0 | 2 | 3;
}

const limitsShape = record({
  /** The least and the most. */
  people: list(count),
  options: count,
  ballots: count,
  /** Bytes. */
  question: count,
  label: count,
});

/** As the servers and all devices hold drafts to it. */
export const limits = (): Of<typeof limitsShape> => limitsShape(JSON.parse(draftLimits()));

/** So many people decide at least, and at most. */
export function peopleLimits(): [least: number, most: number] {
  const [least = 0, most = 0] = limits().people;
  return [least, most];
}

/** A table is filled in row by row, so only few people can have one. */
const TABLE = 6;

const BINARY: readonly RuleName[] = ['majority', 'unanimous', 'at-least', 'veto', 'parity'];
const MANY: readonly RuleName[] = ['plurality', 'tally'];

/** The rules that a wish can have. */
export function rulesFor({ topic, options }: Wish, people: number): RuleName[] {
  if (topic === 'dates') return ['tally', 'unanimous', 'majority', 'at-least'];
  const custom: RuleName[] =
    people >= 2 && people <= TABLE && options.length <= 3 ? ['custom'] : [];
  return [...(options.length === 2 ? BINARY : []), ...MANY, ...custom];
}

/**
 * What a wish for another topic begins with. It has other answers: what was assumed is none of
 * them. Of dates the full count tells which one suits best; a majority would tell of each no more
 * than whether it passed.
 */
export const forTopic = (topic: Topic): Pick<Wish, 'rule' | 'assumed'> => ({
  rule: topic === 'dates' ? 'tally' : 'majority',
  assumed: 0,
});

const hasNeedBe = ({ topic, rule, needBe }: Pick<Wish, 'topic' | 'rule' | 'needBe'>): boolean =>
  topic === 'dates' && rule === 'tally' && needBe;

/** The answers about a date, from worse to better. */
export function dateAnswers(
  wish: Pick<Wish, 'topic' | 'rule' | 'needBe'>,
  words: { impossible: string; ifNeedBe: string; possible: string },
): string[] {
  const between = hasNeedBe(wish) ? [words.ifNeedBe] : [];
  return [words.impossible, ...between, words.possible];
}

/** What keeps a wish from being a draft: a date of the form, or a word of the WASM module. */
export type Complaint = keyof typeof t.complaint;

/** A date as it was filled in, or why it is none: it is empty, or ends before it begins. */
function spanIn(date: string): Span | 'empty' | 'wrong' {
  const [start = '', end = ''] = date.split('/');
  const whole = !start.includes('T');
  // Of days no zone counts.
  const point = (local: string) => new Date(whole ? `${local}T00:00Z` : local).getTime();
  const [from, to] = [point(start), end === '' ? null : point(end)];
  if (start === '' || Number.isNaN(from)) return end === '' ? 'empty' : 'wrong';
  return to === null || to > from ? { from, to, whole } : 'wrong';
}

/** The labels of the dates, each once and in order. */
export function datesOf({ dates }: Pick<Wish, 'dates'>): string[] {
  const spans = dates.map(spanIn).filter((span) => typeof span === 'object');
  const labels = new Set(spans.map(spanLabel));
  const start = (label: string) => spanOf(label)?.from ?? 0;
  return [...labels].sort((a, b) => start(a) - start(b) || a.localeCompare(b));
}

/** Whether a date ends before it begins. */
const hasWrongDate = ({ dates }: Wish): boolean => dates.some((date) => spanIn(date) === 'wrong');

/** The day after, at the same time; of a range both ends. What is no date stays as it is. */
export const nextDay = (date: string): string =>
  date
    .split('/')
    .map((local) => shifted(local, 1))
    .join('/');

function shifted(local: string, days: number): string {
  // As if in UTC, where every day has 24 hours.
  const at = Date.parse(local.includes('T') ? `${local}Z` : `${local}T00:00Z`);
  if (Number.isNaN(at)) return local;
  return new Date(at + days * 86_400_000).toISOString().slice(0, local.length);
}

/** Every day from one to another, both included; at most `most`. */
export function daysFrom(first: string, last: string, most: number): string[] {
  const days: string[] = [];
  for (let day = first; day !== '' && day <= last && days.length < most; day = nextDay(day))
    days.push(day);
  return days;
}

/** Whether there is no result as soon as one of so many people stays away. */
export function allMustAnswer({ quorum }: Pick<Wish, 'quorum'>, people: number): boolean {
  const [usual = 0] = quorums(people);
  return people >= peopleLimits()[0] && (quorum ?? usual) >= people;
}

/**
 * The first thing that keeps a wish from being a draft for these people, and so many more whom
 * nobody knows yet; `now` in milliseconds since 1970.
 */
export function complaintOf(
  wish: Wish,
  guests: Guest[],
  more: number,
  now: number,
): Complaint | null {
  if (wish.topic === 'dates' && hasWrongDate(wish)) return 'ranges';
  const flaw = draftFlaw(wishOf(wish), JSON.stringify(guests), more, now);
  return (flaw as Complaint | undefined) ?? null;
}

/**
 * One more answer. The first of two, as they are shown, becomes the first of three; what is assumed
 * stays the same answer.
 */
export function withOption({
  options,
  assumed,
}: Pick<Wish, 'options' | 'assumed'>): Pick<Wish, 'options' | 'assumed'> {
  const order = orderOf({ options });
  return {
    options: [...order.map((option) => options[option] ?? ''), ''],
    assumed: order.indexOf(assumed),
  };
}

/** One answer less; what is assumed stays the same answer, if that is still there. */
export function withoutOption(
  { options, assumed }: Pick<Wish, 'options' | 'assumed'>,
  removed: number,
): Pick<Wish, 'options' | 'assumed'> {
  const left = options.map((_, option) => option).filter((option) => option !== removed);
  const order = left.length === 2 ? left.reverse() : left;
  return {
    options: order.map((option) => options[option] ?? ''),
    assumed: Math.max(0, order.indexOf(assumed)),
  };
}

/** A number as it was filled in; what is none of so many, counts for 0. */
const whole = (value: number, most: number): number =>
  Number.isInteger(value) && value >= 0 && value <= most ? value : 0;

function ruleOf({ rule, enough, tie, outputs }: Wish): Rule {
  switch (rule) {
    case 'at-least':
      return { 'at-least': { k: whole(enough, 0xffff) } };
    case 'plurality':
      return { plurality: { tie } };
    case 'custom':
      // A table in which something is missing is none.
      return {
        custom: { outputs: outputs.some((value) => whole(value, 255) !== value) ? [] : outputs },
      };
    default:
      return rule;
  }
}

/** A local point of time; what is none has passed. */
const seconds = (local: string): number =>
  whole(Math.floor(new Date(local).getTime() / 1000), Number.MAX_SAFE_INTEGER);

/** A wish as the WASM module reads it. */
function wishOf(wish: Wish): string {
  const [rule, answers] = [ruleOf(wish), dateAnswers(wish, t.dates)];
  const ballot = (label: string, options: string[]) => ({
    label,
    options,
    function: rule,
    assumed: wish.assumed,
  });
  const { topic, question, options, allNeeded, quorum, threshold } = wish;
  return JSON.stringify({
    question,
    ballots:
      topic === 'dates'
        ? datesOf(wish).map((label) => ballot(label, answers))
        : [ballot('', options)],
    accept_by: seconds(wish.acceptBy),
    all_needed: allNeeded,
    quorum: quorum === null ? null : whole(quorum, 0xffff),
    deadline: seconds(wish.deadline),
    threshold,
  });
}

const draftedShape = record({ id: text, draft: text, invitations: list(optional(text)) });

/**
 * The draft as JSON, with its id and the secrets of the invitations that were made; `null` for
 * accounts. `gathering` is the join link by which people have asked, if there was one.
 */
export const draftOf = (
  wish: Wish,
  guests: Guest[],
  creator: DeviceKey,
  deployment: Deployment,
  gathering: string | null,
  now: number,
): Of<typeof draftedShape> =>
  draftedShape(
    JSON.parse(
      makeDraft(
        deployment,
        creator,
        wishOf(wish),
        JSON.stringify(guests),
        gathering ?? undefined,
        now,
      ),
    ),
  );
