// How many servers are believed, and how many people are enough: by what a room's engine bears.

import { believed, minimumFor, moreNeeded, mostMinimum, peopleFor } from '../page/cryptography';

/** What the servers of a room bear. */
export interface Trust {
  /**
   * So many servers say what is believed though no signature proves it: then one of them is honest.
   */
  readonly believed: number;
  /** How many people a minimum takes, the servers giving out their places evenly. */
  peopleFor(minimum: number): number;
  /** The greatest minimum that a room with so many places may have. */
  mostMinimum(capacity: number): number;
  /** The minimum that suits so many people who are expected. */
  minimumFor(people: number): number;
  /**
   * How many more people have to come until a minimum is met; `present` counts those who are there,
   * by server. Nobody is counted whom corrupt servers may have invented; whoever comes goes to the
   * server that has fewest.
   */
  moreNeeded(present: readonly number[], minimum: number): number;
}

/** What the engine of this name bears among so many servers. */
export function trustOf(engine: string, servers: number): Trust {
  return {
    believed: believed(engine, servers),
    peopleFor: (minimum) => peopleFor(minimum, engine, servers),
    mostMinimum: (capacity) => mostMinimum(capacity, engine, servers),
    minimumFor: (people) => minimumFor(people, engine, servers),
    moreNeeded: (present, minimum) => moreNeeded(Uint32Array.from(present), minimum, engine),
  };
}

/** Before it is known who the servers are: nobody is believed. */
export const NOBODY: Trust = {
  believed: Infinity,
  peopleFor: (minimum) => minimum,
  mostMinimum: (capacity) => capacity,
  minimumFor: (people) => people,
  moreNeeded: () => 0,
};
