// When the servers erase what was said in a room (docs/spec/hosting.md, step 10): by the day, in
// UTC, on which it was published, so that it stays that many whole days at least.

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
