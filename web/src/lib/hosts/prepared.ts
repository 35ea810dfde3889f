// Questions that a host has prepared for a room, in the order in which they are to be asked. They
// stay on this device until they are asked, and move as a file.

import { t } from '../../i18n/common';
import type { PollForm } from './hostlog';
import { kindOf, optionsOf } from './wall/polls';
import { count, list, oneOf, optional, record, text as string } from '../servers/shape';
import { bytesOf } from '../page/text';
import { LocalizedError } from '../servers/localized';

/** The part of `localStorage` that is used. */
export type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem' | 'removeItem'>;

/**
 * A question that is not asked yet. Rounds of votes are not prepared: they are about what is on the
 * wall by then.
 */
export interface Prepared {
  question: string;
  form: PollForm;
  /** Seconds that people get to answer. */
  seconds: number;
}

/** As the host log holds polls to it; lengths in bytes. */
export const LIMITS = { question: 500, option: 200, options: [2, 20], highest: [2, 10] } as const;
/** Questions that are prepared at most, and the seconds for one. */
export const MOST = 100;
const SECONDS = 3_600;

const FORMAT = 'ostrakon polls 1';
const nameOf = (room: string) => `ostrakon/prepared/${room}`;

const preparedShape = record({
  question: string,
  kind: oneOf('one', 'several', 'rating', 'text', 'ranking'),
  options: optional(list(string)),
  highest: optional(count),
  seconds: count,
});
const fileShape = record({ format: oneOf(FORMAT), polls: list(preparedShape) });
const keptShape = record({ polls: list(preparedShape) });

const within = (value: number, [least, most]: readonly [number, number]) =>
  value >= least && value <= most;

/** What keeps a question from being asked; the sentence is in the catalogue. */
export type Complaint = 'question' | 'long' | 'options' | 'same' | 'longOption';

export function complaintOf({
  question,
  form,
}: Pick<Prepared, 'question' | 'form'>): Complaint | null {
  if (question.trim() === '') return 'question';
  if (bytesOf(question) > LIMITS.question) return 'long';
  const kind = kindOf(form);
  if (kind === 'text' || kind === 'rating' || kind === 'messages') return null;
  const options = optionsOf(form);
  if (new Set(options).size < options.length) return 'same';
  if (!within(options.length, LIMITS.options)) return 'options';
  return options.some((option) => option === '' || bytesOf(option) > LIMITS.option)
    ? 'longOption'
    : null;
}

/** A question as it is written down: the same in the browser's storage and in a file. */
function written({ question, form, seconds }: Prepared): Record<string, unknown> {
  const kind = kindOf(form);
  if (kind === 'rating')
    return {
      question,
      kind,
      highest: form !== 'text' && 'rating' in form ? form.rating.highest : 0,
      seconds,
    };
  return kind === 'text'
    ? { question, kind, seconds }
    : { question, kind, options: optionsOf(form), seconds };
}

function formOf(kind: string, options: string[], highest: number): PollForm {
  if (kind === 'text') return 'text';
  if (kind === 'rating') return { rating: { highest } };
  return kind === 'ranking'
    ? { ranking: { options } }
    : { choice: { options, several: kind === 'several' } };
}

/** Reads what was written; `null` if it could not be asked. */
function read(found: ReturnType<typeof preparedShape>): Prepared | null {
  const form = formOf(
    found.kind,
    (found.options ?? []).map((option) => option.trim()),
    found.highest ?? 0,
  );
  const prepared = { question: found.question.trim(), form, seconds: found.seconds };
  const rated = kindOf(form) !== 'rating' || within(found.highest ?? 0, LIMITS.highest);
  return rated && within(found.seconds, [1, SECONDS]) && complaintOf(prepared) === null
    ? prepared
    : null;
}

/** What was prepared for a room. What cannot be read is as good as nothing. */
export function preparedFor(storage: Storage, room: string): Prepared[] {
  try {
    const { polls } = keptShape(JSON.parse(storage.getItem(nameOf(room)) ?? '{"polls":[]}'));
    return polls.flatMap((found) => read(found) ?? []);
  } catch {
    return [];
  }
}

/** Keeps what is prepared for a room. Throws if the browser's storage is full. */
export function prepare(storage: Storage, room: string, prepared: Prepared[]): void {
  if (prepared.length === 0) return storage.removeItem(nameOf(room));
  try {
    storage.setItem(nameOf(room), JSON.stringify({ polls: prepared.map(written) }));
  } catch {
    throw new LocalizedError(t.refusal.full);
  }
}

/** The questions as a file, for another room or another device. */
export function fileOf(prepared: Prepared[]): string {
  return `${JSON.stringify({ format: FORMAT, polls: prepared.map(written) }, null, 2)}\n`;
}

/** Reads such a file. Throws why it is none, or which question cannot be asked. */
export function readFile(file: string): Prepared[] {
  let polls: ReturnType<typeof preparedShape>[];
  try {
    ({ polls } = fileShape(JSON.parse(file)));
  } catch {
    throw new LocalizedError(t.refusal.noPolls);
  }
  return polls.map((found, index) => {
    const prepared = read(found);
    if (!prepared) throw new LocalizedError(t.refusal.badPoll(index + 1));
    return prepared;
  });
}
