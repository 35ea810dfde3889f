// Handing in a record, so that no server alone keeps it out of a decision.

import { Problem } from '../../servers/api';
import type { DecisionServer } from '../decisions';
import { isTransient } from '../../servers/retrying';

/** What takes a record in. */
type Taker = Pick<DecisionServer, 'append'>;

/** What of the chain can be seen while a record is handed in. */
export interface Watched {
  /** Reads on, and says whether two servers show more than before: the record, or another one. */
  moved(): Promise<boolean>;
  /** Waits a moment. */
  pause(): Promise<void>;
}

/** How often it is looked whether two servers show what the first server says to have. */
const LOOKS = 5;

/**
 * Hands in an acceptance or answers, once. Whatever the first server answers, the others are given
 * the same bytes unless two servers show that the chain has gone on: they hold them, and nobody
 * counts as absent whose record one of them holds. Throws the first server's refusal only if
 * another one refuses, too, or none of the others answers.
 */
export async function handIn(
  [first, ...others]: Taker[],
  decision: string,
  signed: Uint8Array,
  watched: Watched,
): Promise<void> {
  if (!first) return;
  const answer = await settled(first.append(decision, signed));
  if (answer === null || isOvertaken(answer)) {
    for (let look = 0; look < LOOKS; look++) {
      if (await watched.moved()) return;
      await watched.pause();
    }
  }
  const answers = await Promise.all(
    others.map((server) => settled(server.append(decision, signed))),
  );
  const refused = (error: unknown) => error !== null && !isTransient(error) && !isOvertaken(error);
  const held = answers.some((one) => one === null);
  const silent = answers.every((one) => one !== null && isTransient(one));
  if (refused(answer) && !held && (silent || answers.some(refused))) throw answer as Error;
}

/** Hands in what the first server alone takes. What passes by itself is not thrown. */
export async function handInAtFirst(
  [first]: Taker[],
  decision: string,
  signed: Uint8Array,
): Promise<void> {
  await first?.append(decision, signed).catch((error: unknown) => {
    if (!isTransient(error) && !isOvertaken(error)) throw error;
  });
}

/** The error; `null` if there is none. */
function settled(act: Promise<unknown>): Promise<unknown> {
  return act.then(
    () => null,
    (error: unknown) => error,
  );
}

/** Another record came first. */
function isOvertaken(error: unknown): boolean {
  return error instanceof Problem && error.status === 409;
}
