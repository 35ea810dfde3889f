// A decision as the cryptography describes it, and what is said of it.

import {
  count,
  flag,
  list,
  oneOf,
  optional,
  record,
  text,
  type Of,
  type Shape,
} from '../servers/shape';

/**
 * What is computed of the answers. Where there are two options, the second one is the one that
 * counts.
 */
export type Rule =
  | 'majority'
  | 'unanimous'
  | { 'at-least': { k: number } }
  | 'veto'
  | 'parity'
  | { plurality: { tie: 'first' | 'none' } }
  | 'tally'
  | { custom: { outputs: number[] } };

export type RuleName =
  'majority' | 'unanimous' | 'at-least' | 'veto' | 'parity' | 'plurality' | 'tally' | 'custom';

export function ruleName(rule: Rule): RuleName {
  return typeof rule === 'string' ? rule : (Object.keys(rule)[0] as RuleName);
}

export type Meaning =
  | { passed: boolean }
  | { odd: boolean }
  | { option: number }
  | 'tie'
  | { counts: number[] }
  | { value: number };
export type Part = 'removed' | 'late' | 'invited' | 'accepted' | 'absent' | { answered: number };

/** What a result can tell more than it seems to. */
export type Warning = { kind: 'two-people' } | { kind: 'lone-answer'; ballot: number };

// These come from the cryptography of this page, which has checked them; servers have no say in
// their form.
const trusted =
  <T>(): Shape<T> =>
  (value) =>
    value as T;

const ballotShape = record({
  label: text,
  options: list(text),
  function: trusted<Rule>(),
  assumed: count,
});
const personShape = record({ name: text, part: trusted<Part>(), verified: flag });
const viewShape = record({
  decision: text,
  servers: text,
  question: text,
  ballots: list(ballotShape),
  people: list(personShape),
  threshold: count,
  accept_by: count,
  /** Whether it ends without a result if anybody has not accepted in time. */
  all_needed: flag,
  deadline: count,
  /** How many must answer for a result. */
  quorum: count,
  /** Why it ends when the time to accept is over, if nobody else accepts. */
  lapses: optional(text),
  /** When it ended, by the first server's clock. */
  ended_at: optional(count),
  warnings: list(trusted<Warning>()),
  stage: oneOf('accepting', 'answering', 'closed', 'lapsed', 'cancelled'),
  records: count,
  head: text,
  missing: list(count),
  answered: count,
  remaining: count,
  creator: text,
  owners: list(optional(text)),
  seats: list(trusted<Seat>()),
});
const outcomeShape = record({ outputs: list(count), meanings: list(trusted<Meaning>()) });
const reportShape = record({
  question: text,
  ballots: list(ballotShape),
  servers: text,
  records: count,
  outcome: optional(outcomeShape),
});
/** Exactly one of the two: another release wrote an archive of another version. */
const examinationShape = record({ report: optional(reportShape), version: optional(text) });
const receiptShape = record({
  decision: text,
  servers: text,
  person: count,
  number: count,
  digest: text,
  /** Of the servers that say that they have it. */
  signatures: list(record({ party: count, signature: text })),
});
const residualShape = record({
  before: count,
  after: list(count),
  results: list(count),
  everything: flag,
});

export type Seat = { account: string } | { invitation: string };
export type Ballot = Of<typeof ballotShape>;
export type Person = Of<typeof personShape>;
export type View = Of<typeof viewShape>;
export type Outcome = Of<typeof outcomeShape>;
/** What saved records prove. */
export type Report = Of<typeof reportShape>;
/** What saved records turn out to be. */
export type Examination = Of<typeof examinationShape>;
export type Receipt = Of<typeof receiptShape>;
export type Residual = Of<typeof residualShape>;

export const readView = (json: string): View => viewShape(JSON.parse(json));
export const readOutcome = (json: string): Outcome => outcomeShape(JSON.parse(json));
export const readExamination = (json: string): Examination => examinationShape(JSON.parse(json));
export const readReceipt = (json: string): Receipt => receiptShape(JSON.parse(json));
export const readResidual = (json: string): Residual => residualShape(JSON.parse(json));

/** What was found in a history that does not hold. */
export type Finding =
  | { kind: 'decision' | 'signature' | 'rule' | 'key' | 'forked'; number: number }
  | { kind: 'step'; number: number; name: string }
  | { kind: 'shorter'; shown: number; seen: number }
  | { kind: 'opening'; party: number }
  /** A server shows another history than the others do. */
  | { kind: 'different' }
  /** Everything holds, but the servers' openings make no result. */
  | { kind: 'no-result' }
  | { kind: 'other' };

/**
 * The place that a seat has among the people; `null` if it has none. `key` is an account's or an
 * invitation's.
 */
export function placeOf({ seats }: View, key: string): number | null {
  const place = seats.findIndex(
    (seat) => key === ('account' in seat ? seat.account : seat.invitation),
  );
  return place === -1 ? null : place;
}

/**
 * Who takes part by an account that can be asked again, with the names that the draft gives them:
 * who came by an invitation has an account for this decision alone. Anybody can make a decision
 * about anybody and send its link to a reader: only whoever has a place in it, which is `own`, gets
 * to know the others.
 */
export function acquaintances(
  { owners, people, seats }: Pick<View, 'owners' | 'people' | 'seats'>,
  own: number | null,
): { name: string; account: string }[] {
  if (own === null) return [];
  return owners.flatMap((account, place) =>
    account !== null && isNamed(seats[place], account)
      ? [{ name: people[place]?.name ?? '', account }]
      : [],
  );
}

const isNamed = (seat: Seat | undefined, account: string): boolean =>
  seat !== undefined && 'account' in seat && seat.account === account;

export const hasAnswered = (part: Part): boolean => typeof part === 'object';

/** The options in the order in which people expect them: of two, yes comes before no. */
export function orderOf({ options }: Pick<Ballot, 'options'>): number[] {
  const order = options.map((_, option) => option);
  return order.length === 2 ? order.reverse() : order;
}

/** How often each option was given, each as `2 × yes`. */
export const countsOf = (options: string[], counts: number[]): string[] =>
  counts.map((n, option) => `${n}\u202f×\u202f${options[option] ?? ''}`);

/** What a ballot about a date is about: a point of time, a time from one to another, or days. */
export interface Span {
  /** Milliseconds since 1970; of days midnight in UTC, whatever zone the reader is in. */
  from: number;
  /** Its end, or the last of several days; `null` if there is none. */
  to: number | null;
  /** Whole days are meant. */
  whole: boolean;
}

const DAY = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/;

/** The date in a ballot's label; `null` if the label is something else. */
export function spanOf(label: string): Span | null {
  const [start = '', end, ...more] = label.split('/');
  const whole = DAY.test(start);
  const form = whole ? DAY : TIME;
  if (more.length > 0 || !form.test(start) || (end !== undefined && !form.test(end))) return null;
  const [from, to] = [Date.parse(start), end === undefined ? null : Date.parse(end)];
  if (Number.isNaN(from) || (to !== null && !(to > from))) return null;
  return { from, to, whole };
}

/** The label of a ballot about a date: readers everywhere see times in their own zone. */
export function spanLabel({ from, to, whole }: Span): string {
  const point = (at: number) =>
    whole ? new Date(at).toISOString().slice(0, 10) : `${new Date(at).toISOString().slice(0, 16)}Z`;
  return [from, ...(to === null ? [] : [to])].map(point).join('/');
}

/** Whether the ballots are about dates: each is one. */
export const isDatePoll = ({ ballots }: Pick<View, 'ballots'>): boolean =>
  ballots.every(({ label }) => spanOf(label) !== null);

/** Whether it was counted how many can come: only then one date is known to suit best. */
export const isMeasured = ({ ballots }: Pick<View, 'ballots'>): boolean =>
  ballots.every(({ function: rule }) => rule === 'tally');

/** How many dates suit at all. */
export const suitable = ({ meanings }: Outcome): number =>
  meanings.filter((meaning) => merit(meaning) !== null).length;

/** How many dates suit equally many people as the one that is chosen. */
export function equals({ meanings }: Outcome): number {
  const merits = meanings.map(merit).filter((good) => good !== null);
  const best = Math.max(...merits);
  return merits.filter((good) => good === best).length;
}

/** How good a date came out: more is better; `null` if it did not pass. */
function merit(meaning: Meaning | undefined): number | null {
  if (typeof meaning !== 'object') return null;
  if ('passed' in meaning) return meaning.passed ? 1 : null;
  // The last answer is yes; of three the one before it is “if need be”, which decides between
  // equals.
  const counts = 'counts' in meaning ? meaning.counts : [];
  const yes = counts.at(-1) ?? 0;
  const needBe = counts.length > 2 ? (counts.at(-2) ?? 0) : 0;
  const people = counts.reduce((all, one) => all + one, 0);
  return yes + needBe > 0 ? yes + needBe / (people + 1) : null;
}

/** The date that suits best, the earliest of equals; `null` if none does. */
export function chosenDate({ ballots }: Pick<View, 'ballots'>, { meanings }: Outcome): Span | null {
  let best: { span: Span; merit: number } | null = null;
  for (const [index, { label }] of ballots.entries()) {
    const [span, good] = [spanOf(label), merit(meanings[index])];
    if (span === null || good === null) continue;
    const earlier = best === null || span.from < best.span.from;
    if (best === null || good > best.merit || (good === best.merit && earlier))
      best = { span, merit: good };
  }
  return best?.span ?? null;
}
