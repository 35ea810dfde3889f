// When a poll's answers are taken, where it stands, and what its result says.

import type { Answer, Poll, PollForm, Tally } from './hostlog';
import type { Report } from './statuses';
import { normalised } from './text';

/** The epoch in which answers are sealed if people get `wanted` seconds for them while epoch `collecting` collects. */
export function epochOf(collecting: number, wanted: number, seconds: number): number {
  return collecting + 1 + Math.ceil(wanted / seconds);
}

/** When epoch `epoch` is sealed, as far as can be told: never before enough take part. */
export function sealsAt(epoch: number, now: { number: number; sealsAt: number | null }, seconds: number): number | null {
  return now.sealsAt === null || epoch < now.number ? null : now.sealsAt + (epoch - now.number) * seconds * 1000;
}

/** Where a poll stands. */
export type PollPhase = 'withdrawn' | 'open' | 'counting' | 'counted' | 'lost';

/** What is known of the room's epochs. */
export interface Progress {
  /** The epoch that collects; `null` if none does. */
  collecting: number | null;
  /** The last epochs on the board that were read, and all of them. */
  boards: { epoch: number }[];
  reports: Report[];
}

export function phaseOf(poll: Poll, { collecting, boards, reports }: Progress): PollPhase {
  if (poll.withdrawn) return 'withdrawn';
  if (boards.some(({ epoch }) => epoch === poll.epoch)) return 'counted';
  const last = boards.at(-1)?.epoch ?? -1;
  // The board goes on in the order of the epochs: one that it has passed has no entry.
  if (last > poll.epoch || endedWithoutBoard(poll.epoch, boards.length, reports)) return 'lost';
  return collecting !== null && collecting > poll.epoch ? 'counting' : 'open';
}

/** Whether two servers say that an epoch ended and that there is no more board than was read: one of them is honest. */
function endedWithoutBoard(epoch: number, read: number, reports: Report[]): boolean {
  const says = ({ status }: Report) => {
    if (!status?.last || status.last.number < epoch || status.board_length > read) return false;
    const pending = status.mixing.some(({ number }) => number <= epoch) || (status.epoch?.number ?? Infinity) <= epoch;
    return !pending && (status.last.number > epoch || status.last.outcome !== 'published');
  };
  return reports.filter(says).length >= 2;
}

/** The poll that `poll` asks again because nothing came of it; `null` if it asks something new, or for a new result. */
export function repeated(poll: Poll, polls: Poll[], progress: Progress): Poll | null {
  const same = (other: Poll) => other.question === poll.question && JSON.stringify(other.form) === JSON.stringify(poll.form);
  const before = polls.findLast((other) => other.number < poll.number && same(other));
  return before && phaseOf(before, progress) === 'lost' ? before : null;
}

/** One line of a chart. */
export interface Bar {
  label: string;
  votes: number;
  /** Of those who answered. */
  share: number;
  /** No other answer has more votes. */
  top: boolean;
}

/** The lines of a chart; none for answers in words. */
export function barsOf(form: PollForm, tally: Tally): Bar[] {
  const most = Math.max(0, ...tally.votes);
  const label = (index: number) => (typeof form === 'object' && 'choice' in form ? (form.choice.options[index] ?? '') : String(index + 1));
  return tally.votes.map((votes, index) => ({
    label: label(index),
    votes,
    share: tally.answers === 0 ? 0 : votes / tally.answers,
    top: votes > 0 && votes === most,
  }));
}

/** The mean mark of a rating; `null` if nobody answered or it is no rating. */
export function meanOf(form: PollForm, { answers, votes }: Tally): number | null {
  if (form === 'text' || !('rating' in form) || answers === 0) return null;
  return votes.reduce((sum, count, index) => sum + count * (index + 1), 0) / answers;
}

/** Answers in words with how often each was given, the most frequent first; otherwise in the board's order. */
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

/** The answer that what was picked in a form makes; `null` if it makes none. Options and marks are picked as numbers in text. */
export function answerOf(form: PollForm, picked: string[]): Answer | null {
  const [first] = picked;
  if (form === 'text') {
    const text = normalised(first ?? '');
    return text === '' ? null : { text };
  }
  if (first === undefined) return null;
  if ('rating' in form) return { rating: Number(first) };
  return { choice: picked.map(Number).sort((a, b) => a - b) };
}

/** What was picked to make this answer. */
export function chosenOf(answer: Answer | null): string[] {
  if (answer === null) return [];
  if ('text' in answer) return [answer.text];
  return 'rating' in answer ? [String(answer.rating)] : answer.choice.map(String);
}
