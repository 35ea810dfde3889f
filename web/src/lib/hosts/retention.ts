// When the servers erase what was said in a room (docs/spec/hosting.md, step 10): by the day, in
// UTC, on which it was published, so that it stays that many whole days at least.

import type { Deployment } from '../servers/deployment';
import type { Report } from '../rooms/seen/statuses';

const DAY = 86_400_000;
const HOUR = 3_600_000;

export interface Erasure {
  /** By when the servers have erased next: milliseconds since 1970. They look every hour. */
  next: number;
  /** The day (its beginning in UTC) up to which what was published is erased then. */
  upTo: number;
  /** By when what is published now is erased. */
  fresh: number;
}

/** What the servers of a room that keeps texts for so many days erase next, seen from `now`. */
export function erasureAt(now: number, days: number): Erasure {
  const today = Math.floor(now / DAY);
  return {
    next: (today + 1) * DAY + HOUR,
    upTo: (today - days) * DAY,
    fresh: (today + days + 1) * DAY + HOUR,
  };
}

/**
 * Whether what an epoch said seems to have been there for as long as the room keeps it, as the
 * server tells that is furthest behind. An estimate: the epochs since then may have been shorter,
 * as in a full room, where one ends with the last submission, or longer.
 */
export function isOver(
  epoch: number,
  { retention, seconds }: Pick<Deployment, 'retention' | 'seconds'>,
  reports: Report[],
): boolean {
  const said = reports
    .filter(({ reachable }) => reachable)
    .map(({ status }) => status?.epoch?.number ?? status?.last?.number ?? 0);
  if (retention === null || said.length === 0) return false;
  return (Math.min(...said) - epoch) * seconds * 1000 >= retention * DAY;
}
