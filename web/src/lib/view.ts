// What the page shows, worked out from what the servers say.

import type { Report } from './statuses';
import type { WallEntry } from './wall';

export interface EpochView {
  number: number;
  waitsForStock: boolean;
  sealsAt: number | null;
  mixing: number[];
  /** Participants at all servers that answer. */
  present: number;
}

/** The epoch as the home server tells of it; before there is one, as any server does that answers. */
export function epochView(reports: Report[], home: number | undefined): EpochView | null {
  const answering = reports.filter((report) => report.reachable);
  const preferred = home === undefined ? undefined : reports[home];
  const report = preferred?.reachable ? preferred : answering[0];
  const epoch = report?.status?.epoch;
  if (!report?.status || !epoch) return null;
  return {
    number: epoch.number,
    waitsForStock: epoch.phase === 'waiting-for-stock',
    sealsAt: report.sealsAt,
    mixing: report.status.mixing.map((mix) => mix.number),
    present: reports.reduce((sum, { reachable, status }, party) => sum + (reachable ? (status?.present[party] ?? 0) : 0), 0),
  };
}

/** Whether two servers say that the room takes nothing more: one of them is honest. */
export function isClosed(reports: Report[]): boolean {
  return reports.filter(({ reachable, status }) => reachable && status !== null && status.epoch === null).length >= 2;
}

/** A part of the wall: an epoch in which somebody spoke, or a run of epochs in which nobody did. */
export type Section = { kind: 'spoken'; entry: WallEntry } | { kind: 'silent'; from: number; to: number };

/** The wall from the newest epoch to the oldest. */
export function sections(entries: WallEntry[]): Section[] {
  const found: Section[] = [];
  for (const entry of entries.toReversed()) {
    const last = found.at(-1);
    if (entry.messages.length > 0) found.push({ kind: 'spoken', entry });
    else if (last?.kind === 'silent') last.from = entry.epoch;
    else found.push({ kind: 'silent', from: entry.epoch, to: entry.epoch });
  }
  return found;
}
