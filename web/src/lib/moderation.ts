// The wall as its hosts see it: every message with what was noted about it.

import { marksOf, unmarked, type LogView, type Marks } from './hostlog';
import type { WallEntry } from './wall';

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

/** All messages, the newest epoch first. Within an epoch the board's order tells nothing, and is kept. */
export function messagesOf(entries: WallEntry[], log: LogView): Message[] {
  const find = marksOf(log);
  return entries.toReversed().flatMap(({ epoch, accepted, messages, indices, erased }) => {
    const texts = new Map<number, string | null>(messages.map((text, place) => [indices[place] ?? place, text]));
    for (const index of erased) texts.set(index, null);
    return [...texts].sort(([a], [b]) => a - b).map(([index, text]) => {
      const marks = find(epoch, index) ?? unmarked(epoch, index);
      return { id: `${epoch}/${index}`, epoch, index, among: accepted, marks, text: marks.erased ? null : text };
    });
  });
}

export type Filter = 'all' | 'new' | 'unanswered' | 'answered' | 'pinned' | 'hidden';

export const FILTERS: readonly Filter[] = ['all', 'new', 'unanswered', 'answered', 'pinned', 'hidden'];

/** Nobody has done anything with it. */
function isNew({ marks, text }: Message): boolean {
  return text !== null && !(marks.hidden || marks.approved || marks.pinned || marks.answered) && marks.group === null;
}

/** `group`: only those of this group; `words`: only those that contain them. */
export function matches(message: Message, filter: Filter, group: string | null, words = ''): boolean {
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

/** What everybody may see on a projector: pinned ones first, then the newest. */
export function projected(messages: Message[], moderated: boolean): Message[] {
  const shown = messages.filter(({ marks, text }) => text !== null && !marks.hidden && (marks.approved || !moderated));
  return [...shown.filter(({ marks }) => marks.pinned), ...shown.filter(({ marks }) => !marks.pinned)];
}
