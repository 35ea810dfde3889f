// What room is usual for a number of people.

import type { Trust } from '../../servers/trust';

/** Fewer people than these do not hide anybody, and more need not be asked for. */
const LEAST = 3;
const MOST = 8;
/** The share of those expected who have to be there. */
const SHARE = 0.6;
/** Places of the smallest room; larger ones have twice as many, and so on. */
const PLACES = 24;

/**
 * The minimum and the places of a room for so many people, of servers that bear so much: three are
 * a group, nobody need wait for all who are expected, and twice as many may come.
 */
export function roomFor(people: number, trust: Trust): { minimum: number; capacity: number } {
  const enough = Math.min(MOST, Math.max(LEAST, Math.ceil(people * SHARE)));
  let capacity = PLACES;
  // Rooms of few sizes: what the servers have prepared for one serves the others.
  while (capacity < 2 * people) capacity *= 2;
  let minimum = enough;
  while (minimum > 1 && trust.peopleFor(minimum) > enough) minimum--;
  return { minimum, capacity };
}
