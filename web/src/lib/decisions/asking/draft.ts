// From what a creator fills in to the draft of a decision.

import type { Rule, RuleName } from '../decision';
import { orderOf, spanLabel, spanOf, type Span } from '../decision';
import { quorums } from '../../page/cryptography';
import { normalised } from '../../page/text';

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

/** As the servers and all devices hold drafts to it. */
export const LIMITS = {
  people: [2, 200],
  options: 8,
  ballots: 20,
  question: 500,
  label: 100,
  table: 6,
  entries: 900,
  days: 400,
} as const;

const BINARY: readonly RuleName[] = ['majority', 'unanimous', 'at-least', 'veto', 'parity'];
const MANY: readonly RuleName[] = ['plurality', 'tally'];

/**
 * The rules that a wish can have. A table is filled in row by row, so only few people can have one.
 */
export function rulesFor({ topic, options }: Wish, people: number): RuleName[] {
  if (topic === 'dates') return ['tally', 'unanimous', 'majority', 'at-least'];
  const custom: RuleName[] =
    people >= 2 && people <= LIMITS.table && options.length <= 3 ? ['custom'] : [];
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

/**
 * How many answers can come together, C(people + options − 1, options − 1): the size of a table.
 */
export function entriesOf(people: number, options: number): number {
  let entries = 1;
  for (let i = 1; i < options; i++) entries = (entries * (people + i)) / i;
  return Math.round(entries);
}

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

/** What is wrong with a wish; the sentence is in the catalogue. */
export type Complaint =
  | 'question'
  | 'options'
  | 'dates'
  | 'ranges'
  | 'people'
  | 'deadline'
  | 'acceptBy'
  | 'quorum'
  | 'enough'
  | 'large'
  | 'table';

const filled = (texts: string[]) => texts.map(normalised).filter((text) => text !== '');

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
  return people >= LIMITS.people[0] && (quorum ?? usual) >= people;
}

/** The first thing that keeps a wish from being a draft; `now` in milliseconds since 1970. */
export function complaintOf(wish: Wish, people: number, now: number): Complaint | null {
  const dates = wish.topic === 'dates';
  const ballots = dates ? datesOf(wish).length : 1;
  const options = dates ? (hasNeedBe(wish) ? 3 : 2) : wish.options.length;
  if (normalised(wish.question) === '') return 'question';
  if (dates && hasWrongDate(wish)) return 'ranges';
  if (dates && (ballots < 1 || ballots > LIMITS.ballots)) return 'dates';
  if (!dates && new Set(filled(wish.options)).size !== options) return 'options';
  if (people < LIMITS.people[0] || people > LIMITS.people[1]) return 'people';
  if (ballots * entriesOf(people, options) > LIMITS.entries) return 'large';
  if (wish.rule === 'at-least' && !(wish.enough >= 1 && wish.enough <= people)) return 'enough';
  if (wish.rule === 'custom' && wish.outputs.length !== entriesOf(people, options)) return 'table';
  const [usual = 0, least = 0] = quorums(people);
  const quorum = wish.quorum ?? usual;
  if (!(quorum >= least && quorum <= people)) return 'quorum';
  const ahead = new Date(wish.deadline).getTime() - now;
  if (!(ahead > 0 && ahead <= LIMITS.days * 86_400_000)) return 'deadline';
  const until = new Date(wish.acceptBy).getTime();
  if (!(until > now && until < new Date(wish.deadline).getTime())) return 'acceptBy';
  return null;
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

function ruleOf({ rule, enough, tie, outputs }: Wish): Rule {
  switch (rule) {
    case 'at-least':
      return { 'at-least': { k: enough } };
    case 'plurality':
      return { plurality: { tie } };
    case 'custom':
      return { custom: { outputs } };
    default:
      return rule;
  }
}

const seconds = (local: string): number => Math.floor(new Date(local).getTime() / 1000);

/** A person's place: an account's, or that of whoever has the invitation. */
export interface Seated {
  name: string;
  seat: { account: string } | { invitation: string };
}

export interface Around {
  people: Seated[];
  creator: string;
  servers: string;
  nonce: number[];
  /** The join link by which people have asked; `null` if there was none. */
  gathering: string | null;
  /** As {@link dateAnswers} gives them. */
  dateOptions: string[];
}

/** The draft as JSON, for the cryptography. */
export function draftOf(
  wish: Wish,
  { people, creator, servers, nonce, gathering, dateOptions }: Around,
): string {
  const rule = ruleOf(wish);
  const { assumed } = wish;
  const ballots =
    wish.topic === 'dates'
      ? datesOf(wish).map((label) => ({
          label,
          options: dateOptions,
          function: rule,
          assumed,
        }))
      : [{ label: '', options: wish.options.map(normalised), function: rule, assumed }];
  const [usual] = quorums(people.length);
  return JSON.stringify({
    question: normalised(wish.question),
    ballots,
    people,
    accept_by: seconds(wish.acceptBy),
    all_needed: wish.allNeeded,
    deadline: seconds(wish.deadline),
    quorum: wish.quorum ?? usual,
    threshold: wish.threshold,
    creator,
    gathering,
    nonce,
    servers,
  });
}
