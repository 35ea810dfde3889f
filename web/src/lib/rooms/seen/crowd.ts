// What room is usual for a number of people.

import type { Trust } from '../../servers/trust';

/** Places of the smallest room; larger ones have twice as many, and so on. */
const PLACES = 24;

/**
 * The minimum and the places of a room for so many people, of servers that bear so much: twice as
 * many may come.
 */
export function roomFor(people: number, trust: Trust): { minimum: number; capacity: number } {
  let capacity = PLACES;
  // Rooms of few sizes: what the servers have prepared for one serves the others.
  while (capacity < 2 * people) capacity *= 2;
  return { minimum: trust.minimumFor(people), capacity };
}
