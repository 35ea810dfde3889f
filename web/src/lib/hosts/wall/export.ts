// What a host takes home: tables for a spreadsheet, and everything for a program.

import type { LogView, Poll, Tally } from '../hostlog';
import type { Message } from './moderation';
import { barsOf, isGone, kindOf, type PollPhase, type TextOf } from './polls';

export type Cell = string | number | boolean | null;

/**
 * What spreadsheets take for the beginning of a formula, also in the wide letters of East Asian
 * keyboards.
 */
const FORMULA = /^[\s]*[=+\-@\t\r\n＝＋－＠]/u;

/**
 * A cell that no spreadsheet computes: who writes anonymously must not make others' programs run.
 */
function cell(value: Cell): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const harmless = FORMULA.test(value) ? `'${value}` : value;
  return `"${harmless.replaceAll('"', '""')}"`;
}

/** RFC 4180, with the mark by which spreadsheets recognise UTF-8. */
export function csv(rows: Cell[][]): string {
  return `\uFEFF${rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')}`;
}

/** One line for each message; `votes` by message, of the newest round that it was in. */
export function messageRows(messages: Message[], votes: ReadonlyMap<string, number>): Cell[][] {
  const head = [
    'epoch',
    'index',
    'message',
    'shuffled among',
    'group',
    'answered',
    'pinned',
    'approved',
    'hidden',
    'erased',
    'votes',
  ];
  const rows = messages.map(({ id, epoch, index, text, among, marks }) => [
    epoch,
    index,
    text,
    among,
    marks.group,
    marks.answered,
    marks.pinned,
    marks.approved,
    marks.hidden,
    text === null,
    votes.get(id) ?? null,
  ]);
  return [head, ...rows];
}

export interface Result {
  poll: Poll;
  phase: PollPhase;
  /** `null` before the poll's epoch is on the board. */
  tally: Tally | null;
}

/** One line for each possible answer, or for each answer in words. */
export function pollRows(results: Result[], textOf: TextOf): Cell[][] {
  const head = [
    'poll',
    'question',
    'kind',
    'epoch',
    'withdrawn',
    'answers',
    'option',
    'votes',
    'right',
    'state',
    'erased in epoch',
  ];
  const rows = results.flatMap(({ poll, phase, tally }) => {
    const start: Cell[] = [
      poll.number,
      poll.question,
      kindOf(poll.form),
      poll.epoch,
      poll.withdrawn,
      tally?.answers ?? null,
    ];
    const end: Cell[] = [phase, tally?.erased ?? null];
    if (!tally || isGone(tally)) return [[...start, null, null, null, ...end]];
    const bars = barsOf(poll.form, tally, { textOf, right: poll.right });
    const rows = bars.map(({ label, votes, right }) => [
      ...start,
      label,
      votes,
      poll.right && right,
      ...end,
    ]);
    return [...rows, ...tally.texts.map((words) => [...start, words, 1, null, ...end])];
  });
  return [head, ...rows];
}

export interface Whole {
  name: string;
  purpose: string;
  link: string;
  /** Milliseconds since 1970. */
  exported: number;
  /** The digest of the board's last entry. */
  board: string;
  log: LogView;
  messages: Message[];
  /** By message, of the newest round that it was in. */
  votes: ReadonlyMap<string, number>;
  results: Result[];
}

/** Everything for a program. */
export function json({
  name,
  purpose,
  link,
  exported,
  board,
  log,
  messages,
  votes,
  results,
}: Whole): string {
  const { length, head, closed, moderated } = log;
  const document = {
    format: 'ostrakon room 1',
    room: { name, purpose, link, closed, moderated },
    exported: new Date(exported).toISOString(),
    heads: { board, actions: head, action_count: length },
    messages: messages.map(
      ({
        id,
        epoch,
        index,
        text,
        among,
        marks: { hidden, approved, pinned, answered, group },
      }) => ({
        epoch,
        index,
        text,
        shuffled_among: among,
        group,
        answered,
        pinned,
        approved,
        hidden,
        votes: votes.get(id) ?? null,
      }),
    ),
    polls: results.map(({ poll, phase, tally }) => ({ ...poll, state: phase, result: tally })),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** A name for a file, from a room's name. */
export function fileName(name: string, what: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '')
    .toLowerCase()
    .slice(0, 60);
  return `${plain || 'room'}-${what}`;
}
