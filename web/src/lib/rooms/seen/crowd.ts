// How many people have to be there before anything is published.

/** Servers of a deployment. */
const SERVERS = 3;

/**
 * How many more people have to come until a room's minimum is met; `present` counts those who are
 * there, by server. The participants of no one server are counted, whichever it be, since it may
 * have invented them; whoever comes goes to the server that has fewest.
 */
export function moreNeeded(present: readonly number[], minimum: number): number {
  const counts = [...present];
  const isEnough = () =>
    counts.reduce((sum, count) => sum + count, 0) - Math.max(...counts) >= minimum;
  let more = 0;
  while (counts.length > 1 && !isEnough()) {
    const fewest = counts.indexOf(Math.min(...counts));
    counts[fewest] = (counts[fewest] ?? 0) + 1;
    more++;
  }
  return more;
}

/** How many people a minimum takes, the servers giving out their places evenly. */
export function peopleFor(minimum: number): number {
  return Math.max(1, moreNeeded(Array<number>(SERVERS).fill(0), minimum));
}

/** Fewer people than these do not hide anybody, and more need not be asked for. */
const LEAST = 3;
const MOST = 8;
/** The share of those expected who have to be there. */
const SHARE = 0.6;
/** Places of the smallest room; larger ones have twice as many, and so on. */
const PLACES = 24;

/**
 * The minimum and the places of a room for so many people: three are a group, nobody need wait for
 * all who are expected, and twice as many may come.
 */
export function roomFor(people: number): { minimum: number; capacity: number } {
  const enough = Math.min(MOST, Math.max(LEAST, Math.ceil(people * SHARE)));
  let capacity = PLACES;
  // Rooms of few sizes: what the servers have prepared for one serves the others.
  while (capacity < 2 * people) capacity *= 2;
  return { minimum: enough - Math.ceil(enough / SERVERS), capacity };
}
