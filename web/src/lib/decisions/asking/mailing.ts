// A decision's links by e-mail: what the creator asks of a server that sends any, and what became
// of it.

import { Problem } from '../../servers/api';
import type { Clock } from '../../page/clock';
import type { DecisionServer, MailRequest } from '../decisions';

/** Messages to one person that a server sends at most. */
export const MOST = 3;
/** How often a server may say that it is busy. */
const ATTEMPTS = 5;
/** Milliseconds before a busy server is asked again; longer each time. */
const PAUSE = 800;

/** Why a message was not sent; the sentence, with the remedy, is in the catalogue. */
export type Failure = 'address' | 'over' | 'none' | 'busy' | 'untaken' | 'away' | 'refused';

/** What is asked of a server. */
type Sender = Pick<DecisionServer, 'mail'>;

/**
 * The first server that sends e-mail; `null` if none does, `undefined` if none of those that answer
 * does.
 */
export async function senderOf<S extends Pick<DecisionServer, 'sendsMail'>>(
  servers: S[],
): Promise<S | null | undefined> {
  const answers = await Promise.all(
    servers.map((server) => server.sendsMail().catch(() => undefined)),
  );
  return (
    servers.find((_, party) => answers[party]) ?? (answers.includes(undefined) ? undefined : null)
  );
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof Problem)) return 'away';
  const known: Record<number, Failure> = {
    404: 'none',
    409: 'over',
    422: 'address',
    429: 'busy',
    503: 'untaken',
  };
  return known[error.status] ?? 'refused';
}

/**
 * Has a message sent; `null` if the mail server has taken it. A server that is busy is asked again.
 */
export async function post(
  server: Sender,
  id: string,
  request: MailRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<Failure | null> {
  let failure: Failure | null = null;
  for (let attempt = 1; attempt <= ATTEMPTS && !signal.aborted; attempt++) {
    failure = await server.mail(id, request).then(() => null, failureOf);
    if (failure !== 'busy') return failure;
    await clock.sleep(PAUSE * attempt, signal);
  }
  return failure;
}
