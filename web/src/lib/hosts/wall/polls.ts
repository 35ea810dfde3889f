// When a poll's answers are taken, where it stands, and what its result says.

import {
  keyOf,
  type Answer,
  type Ballot,
  type Poll,
  type PollForm,
  type Tally,
  type Target,
} from '../hostlog';
import type { Report } from '../../rooms/seen/following';
import { normalised } from '../../page/text';

/** What is asked for. `messages` is a round of votes on messages of the wall. */
export type Kind = 'one' | 'several' | 'rating' | 'text' | 'messages' | 'ranking';

export function kindOf(form: PollForm): Kind {
  if (form === 'text') return 'text';
  if ('rating' in form) return 'rating';
  if ('messages' in form) return 'messages';
  if ('ranking' in form) return 'ranking';
  return form.choice.several ? 'several' : 'one';
}

/** Messages that one round of votes can be about. */
export const MOST_TARGETS = 100;

/** The options of a poll that has some. */
export function optionsOf(form: PollForm): string[] {
  if (form === 'text') return [];
  if ('choice' in form) return form.choice.options;
  return 'ranking' in form ? form.ranking.options : [];
}

/** How a message is called where it is voted on; `null` if it is not to be shown. */
export type TextOf = (target: Target) => string | null;

/** A text of a message, or that there is none to be shown. */
type Label = string | null;

/** What a form lets people choose from, in the order in which answers name it. */
export function labelsOf(form: PollForm, textOf: TextOf): Label[] {
  if (form === 'text') return [];
  if ('rating' in form)
    return Array.from({ length: form.rating.highest }, (_, index) => String(index + 1));
  return 'messages' in form ? form.messages.targets.map(textOf) : optionsOf(form);
}

/** Whether there may have been answers of which none can be read any more. */
export function isGone({ answers, erased }: Tally): boolean {
  return answers === 0 && erased > 0;
}

/**
 * Votes by message (see {@link keyOf}). Rounds are not added up: whoever took part in two would
 * count twice. The newest one counts.
 */
export function votesOf(polls: Poll[], tally: (poll: Poll) => Tally | null): Map<string, number> {
  const found = new Map<string, number>();
  for (const poll of polls) {
    const { form, withdrawn } = poll;
    if (withdrawn || form === 'text' || !('messages' in form)) continue;
    const counted = tally(poll);
    if (!counted) continue;
    for (const [index, target] of form.messages.targets.entries()) {
      // That nobody voted cannot be told of a round of which nothing is left.
      if (isGone(counted)) found.delete(keyOf(target));
      else found.set(keyOf(target), counted.votes[index] ?? 0);
    }
  }
  return found;
}

/** How many whole epochs people may get to answer, beside what is left of the one that collects. */
const ROUNDS = [1, 2, 3, 5, 10, 20] as const;

/** The times, in seconds, that a room can give people to answer: an epoch seals them. */
export const timesOf = (seconds: number): number[] => ROUNDS.map((rounds) => rounds * seconds);

/** The time of those that a room can give that is nearest to the wanted one. */
export function nearestTime(wanted: number, seconds: number): number {
  const off = (time: number) => Math.abs(time - wanted);
  return timesOf(seconds).reduce((best, time) => (off(time) < off(best) ? time : best));
}

/**
 * The epoch in which answers are sealed if people get `wanted` seconds for them while epoch
 * `collecting` collects. Devices may have handed in for that one already.
 */
export function epochOf(collecting: number, wanted: number, seconds: number): number {
  return collecting + Math.max(1, Math.round(wanted / seconds));
}

/** When epoch `epoch` is sealed, as far as can be told: never before enough take part. */
export function sealsAt(
  epoch: number,
  now: { number: number; sealsAt: number | null },
  seconds: number,
): number | null {
  return now.sealsAt === null || epoch < now.number
    ? null
    : now.sealsAt + (epoch - now.number) * seconds * 1000;
}

/** Where a poll stands. `unread`: that cannot be told yet, since the wall is still being read. */
export type PollPhase = 'withdrawn' | 'open' | 'counting' | 'counted' | 'lost' | 'unread';

/** What is known of the room's epochs. */
export interface Progress {
  /** The epoch that collects; `null` if none does. */
  collecting: number | null;
  /** The last epochs on the board that were read, and all of them. */
  boards: { epoch: number }[];
  reports: Report[];
  /** Servers that must say the same. */
  believed: number;
  /** Whether the wall is read. */
  read: boolean;
}

export function phaseOf(poll: Poll, progress: Progress): PollPhase {
  const { collecting, boards, read } = progress;
  if (poll.withdrawn) return 'withdrawn';
  if (boards.some(({ epoch }) => epoch === poll.epoch)) return 'counted';
  const last = boards.at(-1)?.epoch ?? -1;
  // The board goes on in the order of the epochs: one that it has passed has no entry.
  if (last > poll.epoch || endedWithoutBoard(poll.epoch, progress)) return 'lost';
  if (collecting !== null && collecting <= poll.epoch) return 'open';
  if (!read) return 'unread';
  return collecting === null ? 'open' : 'counting';
}

/**
 * Whether so many servers that one is honest say that an epoch ended and that there is no more
 * board than was read.
 */
function endedWithoutBoard(epoch: number, { boards, reports, believed }: Progress): boolean {
  const says = ({ status }: Report) => {
    if (!status?.last || status.last.number < epoch) return false;
    if (status.board_length > boards.length) return false;
    const pending =
      status.mixing.some(({ number }) => number <= epoch) ||
      (status.epoch?.number ?? Infinity) <= epoch;
    return !pending && (status.last.number > epoch || status.last.outcome !== 'published');
  };
  return reports.filter(says).length >= believed;
}

/**
 * The poll that `poll` asks again because nothing came of it; `null` if it asks something new, or
 * for a new result.
 */
export function repeated(poll: Poll, polls: Poll[], progress: Progress): Poll | null {
  const same = (other: Poll) =>
    other.question === poll.question && JSON.stringify(other.form) === JSON.stringify(poll.form);
  const before = polls.findLast((other) => other.number < poll.number && same(other));
  return before && phaseOf(before, progress) === 'lost' ? before : null;
}

/**
 * The poll whose answer this device gives to `poll` by itself, since nothing came of it; `null` if
 * there is none. An answer that may have been read waits for its author: given again, it would
 * stand beside what was read of it.
 */
export function answeredAgain(
  poll: Poll,
  polls: Poll[],
  progress: Progress,
  ballots: Ballot[],
): Poll | null {
  if (poll.withdrawn || ballots.some((ballot) => ballot.poll === poll.number)) return null;
  const before = repeated(poll, polls, progress);
  const stateOf = (asked: Poll) => ballots.find(({ poll }) => poll === asked.number)?.state;
  return before && stateOf(before) === 'missed' ? before : null;
}

/** One line of a chart. */
export interface Bar {
  /** `null`: a message that is not to be shown. */
  label: Label;
  votes: number;
  /** Of those who answered; of a ranking, of the points that can be had. */
  share: number;
  /** No other answer has more votes. */
  top: boolean;
  /** The host has said that this is right. */
  right: boolean;
}

/**
 * The lines of a chart; none for answers in words. Messages and ranked options stand in the order
 * of their votes.
 */
export function barsOf(
  form: PollForm,
  tally: Tally,
  { textOf = () => null, right = null }: { textOf?: TextOf; right?: number[] | null } = {},
): Bar[] {
  const most = Math.max(0, ...tally.votes);
  const labels = labelsOf(form, textOf);
  const all = tally.answers * (kindOf(form) === 'ranking' ? labels.length - 1 : 1);
  const bars = tally.votes.map((votes, index) => ({
    label: labels[index] ?? null,
    votes,
    share: all === 0 ? 0 : votes / all,
    top: votes > 0 && votes === most,
    right: right?.includes(index) ?? false,
  }));
  return kindOf(form) === 'messages' || kindOf(form) === 'ranking'
    ? bars.sort((a, b) => b.votes - a.votes)
    : bars;
}

/** The mean mark of a rating; `null` if nobody answered or it is no rating. */
export function meanOf(form: PollForm, { answers, votes }: Tally): number | null {
  if (form === 'text' || !('rating' in form) || answers === 0) return null;
  return votes.reduce((sum, count, index) => sum + count * (index + 1), 0) / answers;
}

/**
 * Answers in words with how often each was given, the most frequent first; otherwise in the board's
 * order.
 */
export function wordsOf({ texts }: Tally): { words: string; times: number }[] {
  const found = new Map<string, { words: string; times: number }>();
  for (const words of texts) {
    const key = words.trim().toLocaleLowerCase();
    const known = found.get(key);
    if (known) known.times += 1;
    else found.set(key, { words: words.trim(), times: 1 });
  }
  return [...found.values()].sort((a, b) => b.times - a.times);
}

/**
 * The answer that what was picked in a form makes; `null` if it makes none. Options and marks are
 * picked as numbers in text.
 */
export function answerOf(form: PollForm, picked: string[]): Answer | null {
  const [first] = picked;
  if (form === 'text') {
    const text = normalised(first ?? '');
    return text === '' ? null : { text };
  }
  if (first === undefined) return null;
  if ('rating' in form) return { rating: Number(first) };
  const numbers = picked.map(Number);
  if ('ranking' in form)
    return numbers.length === form.ranking.options.length ? { ranking: numbers } : null;
  return { choice: numbers.sort((a, b) => a - b) };
}

/** What was picked to make this answer. */
export function chosenOf(answer: Answer | null): string[] {
  if (answer === null) return [];
  if ('text' in answer) return [answer.text];
  if ('rating' in answer) return [String(answer.rating)];
  return ('ranking' in answer ? answer.ranking : answer.choice).map(String);
}

/** Whether an answer is exactly what the host has said is right. */
export function isRight(answer: Answer, right: number[]): boolean {
  return (
    'choice' in answer &&
    answer.choice.length === right.length &&
    answer.choice.every((index) => right.includes(index))
  );
}

/**
 * The order of a ranking after an option was touched: it comes last, or out of it; what is left
 * over at the end is last.
 */
export function ranked(order: string[], option: string, options: number): string[] {
  const next = order.includes(option)
    ? order.filter((other) => other !== option)
    : [...order, option];
  if (order.includes(option) || next.length !== options - 1) return next;
  const rest = Array.from({ length: options }, (_, index) => String(index)).filter(
    (index) => !next.includes(index),
  );
  return [...next, ...rest];
}
