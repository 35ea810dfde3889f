// What the page shows, worked out from what the servers say.

import type { Deployment } from '../../servers/deployment';
import { NOBODY, type Trust } from '../../servers/trust';
import { keyOf, type LogView, type Marks } from '../../hosts/hostlog';
import type { TextOf } from '../../hosts/wall/polls';
import type { Standing } from '../part/session.svelte';
import { closingOf, type Report } from './following';
import type { WallEntry } from './following';

export interface EpochView {
  number: number;
  waitsForStock: boolean;
  /** `null` if nobody knows: as long as too few are there, or it is overdue, the epoch waits. */
  sealsAt: number | null;
  mixing: number[];
  /** Participants at all servers that answer, as they say. */
  present: number;
  /** How many more have to come before anything is published. */
  missing: number;
  /** Places in it that are taken, as those who are believed of that say. */
  taken: number;
  /** `null` unless it could have been closed, or opened, for a while. */
  overdue: Overdue | null;
}

/** An epoch that could have been closed and is not, or opened. */
export interface Overdue {
  number: number;
  /** Whether it is one that nobody has opened yet. */
  opening: boolean;
  /** By this device's clock. */
  since: number;
  /**
   * The servers whose word is missing, whoever keeps it back; none, if earlier epochs are to be
   * finished first.
   */
  by: number[];
}

/**
 * The epoch as the home server tells of it; before there is one, as any server does that answers;
 * one that is overdue as those say who are believed of that, whatever the home says. `most` can
 * take part; `minimum` holds, at servers that bear so much.
 */
export function epochView(
  reports: Report[],
  home: number | undefined,
  most: number,
  minimum = 0,
  trust: Trust = NOBODY,
): EpochView | null {
  const answering = reports.filter((report) => report.reachable);
  const preferred = home === undefined ? undefined : reports[home];
  const report = preferred?.reachable ? preferred : answering[0];
  const epoch = report?.status?.epoch;
  const overdue = overdueOf(answering, trust);
  const number = overdue?.number ?? epoch?.number;
  if (number === undefined) return null;
  const missing = trust.moreNeeded(
    reports.map((_, party) => Math.min(most, presentAt(reports, party))),
    minimum,
  );
  return {
    number,
    waitsForStock: overdue?.opening ?? epoch?.phase === 'waiting-for-stock',
    sealsAt: missing > 0 || overdue ? null : closingOf(reports, number),
    mixing: report?.status?.mixing.map((mix) => mix.number) ?? [],
    present: presentNow(reports, most),
    missing,
    taken: takenOf(answering, number, trust),
    overdue,
  };
}

/** So many places of an epoch are taken at least, as so many say as are believed. */
function takenOf(answering: Report[], number: number, { believed }: Trust): number {
  const said = answering.flatMap(({ status }) =>
    status?.epoch?.number === number ? [status.epoch.assigned] : [],
  );
  return said.sort((a, b) => b - a)[believed - 1] ?? 0;
}

/**
 * Participants at a server, as it says. Whom it let in are there though it falls silent: such a one
 * is counted as the others count it, as the command line does.
 */
function presentAt(reports: Report[], party: number): number {
  const of = ({ status }: Report) => status?.present[party] ?? 0;
  const own = reports[party];
  if (own?.reachable) return of(own);
  return Math.max(0, ...reports.filter(({ reachable }) => reachable).map(of));
}

/** What the servers that answer say of overdue epochs. */
function complaintsOf(answering: Report[]): Overdue[] {
  return answering.flatMap(({ status, came }) => {
    if (!status?.epoch || !status.overdue) return [];
    const { number, phase } = status.epoch;
    const { for_ms, by } = status.overdue;
    return [{ number, opening: phase === 'waiting-for-stock', since: came - for_ms, by }];
  });
}

/**
 * The last epoch that so many say to be overdue as are believed, and why. What fewer say counts for
 * nothing: neither of whom nor of which epoch; and the one of them that waits longest is not
 * believed of how long.
 */
function overdueOf(answering: Report[], { believed }: Trust): Overdue | null {
  const said = complaintsOf(answering);
  const alike = ({ number, opening }: Overdue) =>
    said.filter((one) => one.number === number && one.opening === opening);
  const [last] = said
    .filter((one) => alike(one).length >= believed)
    .sort((a, b) => b.number - a.number || Number(a.opening) - Number(b.opening));
  if (!last) return null;
  const { number, opening } = last;
  const of = alike(last);
  const since = of.map((one) => one.since).sort((a, b) => a - b)[believed - 1] ?? last.since;
  const by = [...new Set(of.flatMap((one) => one.by))].filter(
    (party) => of.filter((one) => one.by.includes(party)).length >= believed,
  );
  const nobody = !opening && of.filter((one) => one.by.length === 0).length >= believed;
  if (by.length === 0 && !nobody) return null;
  return { number, opening, since, by: by.sort((a, b) => a - b) };
}

/** How the servers with these numbers are called. */
export function namesOf({ operators }: Pick<Deployment, 'operators'>, parties: number[]): string[] {
  return operators.filter(({ party }) => parties.includes(party)).map(({ name }) => name);
}

/**
 * How many can take part: an epoch has so many places, and in a room of members nobody else gets
 * one. `log`: once it is read.
 */
export function mostPresent(
  { capacity, members }: Pick<Deployment, 'capacity' | 'members'>,
  log: LogView | null,
): number {
  return members && log ? Math.min(capacity, log.members.length) : capacity;
}

/**
 * Participants at all servers that answer, as each tells of itself. Nobody signs that, so it goes
 * no further than what can be.
 */
export function presentNow(reports: Report[], most: number): number {
  const said = reports.reduce(
    (sum, { reachable, status }, party) => sum + (reachable ? (status?.present[party] ?? 0) : 0),
    0,
  );
  return Math.min(said, most);
}

/** The last published epoch of which something can be read. */
export function newestSpoken(entries: WallEntry[]): WallEntry | undefined {
  return entries.findLast((entry) => speaks(entry));
}

/** The epoch that a message sent now would enter, as far as that can be told. */
export function nextEpoch(
  view: EpochView | null,
  part: Standing,
  seconds: number,
): Pick<EpochView, 'number' | 'sealsAt'> | null {
  if (!view) return null;
  if (part.at !== 'handed-in' || part.epoch !== view.number) return view;
  return {
    number: view.number + 1,
    sealsAt: view.sealsAt === null ? null : view.sealsAt + seconds * 1000,
  };
}

/** Whether a place that a server names can be opened in a browser. */
export function isOpenable(origin: string): boolean {
  return /^https?:\/\/[^/\s]+$/.test(origin);
}

/** Whether every server was asked and none answers. */
export function isSilent(reports: Report[]): boolean {
  return reports.length > 0 && reports.every(({ reachable }) => reachable === false);
}

/** Whether so many servers say that the room takes nothing more that one of them is honest. */
export function isClosed(reports: Report[], { believed }: Trust): boolean {
  return (
    reports.filter(({ reachable, status }) => reachable && status !== null && status.epoch === null)
      .length >= believed
  );
}

/** A part of the wall: an epoch in which somebody spoke, or a run of epochs in which nobody did. */
export type Section =
  { kind: 'spoken'; entry: WallEntry } | { kind: 'silent'; from: number; to: number };

/** The wall from the newest epoch to the oldest. */
export function sections(entries: WallEntry[]): Section[] {
  const found: Section[] = [];
  for (const entry of entries.toReversed()) {
    const last = found.at(-1);
    if (speaks(entry)) found.push({ kind: 'spoken', entry });
    else if (last?.kind === 'silent') last.from = entry.epoch;
    else found.push({ kind: 'silent', from: entry.epoch, to: entry.epoch });
  }
  return found;
}

function speaks({ messages, erased, ballots }: WallEntry): boolean {
  return messages.length + erased.length + ballots > 0;
}

/** A message as it is shown, with what the hosts noted about it. */
export interface Card {
  epoch: number;
  index: number;
  text: string;
  marks: Marks | undefined;
}

/** The texts of messages that are to be shown: neither hidden nor erased. */
export function textsOf(
  entries: WallEntry[],
  marksOf: (epoch: number, index: number) => Marks | undefined,
): TextOf {
  const found = new Map(
    entries.flatMap((entry) =>
      shownEntry(entry, marksOf).cards.map((card) => [keyOf(card), card.text]),
    ),
  );
  return (target) => found.get(keyOf(target)) ?? null;
}

/** What of an entry is shown, and how much of it is not. */
export interface ShownEntry {
  cards: Card[];
  hidden: number;
  erased: number;
}

export function shownEntry(
  entry: WallEntry,
  marksOf: (epoch: number, index: number) => Marks | undefined,
): ShownEntry {
  const { epoch, messages, indices } = entry;
  const all = messages.map((text, at): Card => {
    const index = indices[at] ?? at;
    return { epoch, index, text, marks: marksOf(epoch, index) };
  });
  const gone = (card: Card) => card.marks?.erased ?? false;
  const hidden = (card: Card) => !gone(card) && (card.marks?.hidden ?? false);
  return {
    cards: all.filter((card) => !gone(card) && !hidden(card)),
    hidden: all.filter(hidden).length,
    erased: entry.erased.length + all.filter(gone).length,
  };
}
