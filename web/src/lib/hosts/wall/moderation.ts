// The wall as its hosts see it: every message with what was noted about it.

import { keyOf, marksOf, unmarked, type LogView, type Marks, type Target } from '../hostlog';
import { MOST_TARGETS, type TextOf } from './polls';
import type { WallEntry } from '../../rooms/seen/following';

export interface Message {
  /** `EPOCH/INDEX`. */
  id: string;
  epoch: number;
  index: number;
  /** `null` if it was erased. */
  text: string | null;
  /** Submissions among which it was shuffled. */
  among: number;
  marks: Marks;
}

/**
 * All messages, the newest epoch first. Within an epoch the board's order tells nothing, and is
 * kept.
 */
export function messagesOf(entries: WallEntry[], log: LogView): Message[] {
  const find = marksOf(log);
  return entries.toReversed().flatMap(({ epoch, accepted, messages, indices, erased }) => {
    const texts = new Map<number, string | null>(
      messages.map((text, place) => [indices[place] ?? place, text]),
    );
    for (const index of erased) texts.set(index, null);
    return [...texts]
      .sort(([a], [b]) => a - b)
      .map(([index, text]) => {
        const marks = find(epoch, index) ?? unmarked(epoch, index);
        return {
          id: keyOf({ epoch, index }),
          epoch,
          index,
          among: accepted,
          marks,
          text: marks.erased ? null : text,
        };
      });
  });
}

export type Filter = 'all' | 'new' | 'unanswered' | 'answered' | 'pinned' | 'hidden';

export const FILTERS: readonly Filter[] = [
  'all',
  'new',
  'unanswered',
  'answered',
  'pinned',
  'hidden',
];

/** Nobody has done anything with it. */
function isNew({ marks, text }: Message): boolean {
  return (
    text !== null &&
    !(marks.hidden || marks.approved || marks.pinned || marks.answered) &&
    marks.group === null
  );
}

/** `group`: only those of this group; `words`: only those that contain them. */
export function matches(
  message: Message,
  filter: Filter,
  group: string | null,
  words = '',
): boolean {
  const { marks, text } = message;
  if (group !== null && marks.group !== group) return false;
  if (words !== '' && !text?.toLocaleLowerCase().includes(words.toLocaleLowerCase())) return false;
  switch (filter) {
    case 'all':
      return true;
    case 'new':
      return isNew(message);
    case 'unanswered':
      return text !== null && !marks.hidden && !marks.answered;
    default:
      return marks[filter];
  }
}

/** The groups that messages are in, in alphabetical order. */
export function groupsOf(messages: Message[]): string[] {
  const names = messages.flatMap(({ marks }) => (marks.group === null ? [] : [marks.group]));
  return [...new Set(names)].sort((a, b) => a.localeCompare(b));
}

/** How messages are put into order. */
export type Order = 'newest' | 'oldest' | 'votes';

/**
 * Messages, which come with the newest first, in another order; where votes are alike, the newer
 * one is first.
 */
export function inOrder(
  messages: Message[],
  order: Order,
  votes: ReadonlyMap<string, number>,
): Message[] {
  if (order === 'oldest') return messages.toReversed();
  if (order === 'newest') return messages;
  return messages.toSorted((a, b) => (votes.get(b.id) ?? 0) - (votes.get(a.id) ?? 0));
}

/** Whether everybody may see it on a projector: where hosts look first, what they have approved. */
function shows({ marks, text }: Message, moderated: boolean): boolean {
  return text !== null && !marks.hidden && (marks.approved || !moderated);
}

/** The texts of messages that everybody may see on a projector, also where they are voted on. */
export function projectedTexts(messages: Message[], moderated: boolean): TextOf {
  const found = new Map(
    messages.filter((message) => shows(message, moderated)).map(({ id, text }) => [id, text]),
  );
  return (target) => found.get(keyOf(target)) ?? null;
}

/**
 * What everybody may see on a projector: pinned ones first, then by the votes of the newest round,
 * then the newest.
 */
export function projected(
  messages: Message[],
  moderated: boolean,
  votes: ReadonlyMap<string, number>,
): Message[] {
  const shown = messages.filter((message) => shows(message, moderated));
  // What is answered needs no more votes.
  const open = new Set(shown.filter(({ marks }) => !marks.answered).map(({ id }) => id));
  const standing = new Map([...votes].filter(([id]) => open.has(id)));
  const ordered = inOrder(shown, 'votes', standing);
  return [
    ...ordered.filter(({ marks }) => marks.pinned),
    ...ordered.filter(({ marks }) => !marks.pinned),
  ];
}

/**
 * Messages that a round of votes can be about: to be seen, and not answered; the newest ones if
 * there are too many.
 */
export function votable(messages: Message[], moderated: boolean): Message[] {
  const open = messages.filter((message) => shows(message, moderated) && !message.marks.answered);
  return open.slice(0, MOST_TARGETS);
}

/** Names of messages as a round of votes has them: in the board's order. */
export function targetsOf(messages: Message[]): Target[] {
  return messages
    .map(({ epoch, index }) => ({ epoch, index }))
    .sort((a, b) => a.epoch - b.epoch || a.index - b.index);
}
