// What room is usual for a number of people.

import { placesFor } from '../../page/cryptography';
import type { Trust } from '../../servers/trust';

/** Places of the smallest room; larger ones have twice as many, and so on. */
const PLACES = 24;

/**
 * The minimum and the places of a room for so many people, of servers that bear so much: twice as
 * many may come.
 */
export function roomFor(people: number, trust: Trust): { minimum: number; capacity: number } {
  return { minimum: trust.minimumFor(people), capacity: placesFor(Math.max(0, people), PLACES) };
}
