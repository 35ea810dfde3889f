// Reads everything of a decision anew, to compare it with what was read before.

import { t as common } from '../../../i18n/common';
import { ended, type Clock } from '../../page/clock';
import { DecisionMemory, type DecisionVisitor } from '../../page/cryptography';
import type { Server } from '../../servers/api';
import { LocalizedError } from '../../servers/localized';
import { Refused } from '../../servers/rejection';
import type { Outcome } from '../decision';
import { Visiting, type Here, type News } from './visiting';

/** What was read anew. */
export interface Anew {
  /** The digest of a record; `undefined` if it was not read. */
  digest: string | undefined;
  outcome: Outcome | null;
}

/**
 * Reads and verifies everything once, with a machine that has read nothing; what came of record
 * `number`, and of the whole. Throws {@link Refused} if it does not hold. Nothing of it is written
 * down.
 */
export async function readAnew(
  machine: DecisionVisitor,
  servers: Pick<Server, 'carry'>[],
  number: number,
  progress: (done: number, all: number) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<Anew> {
  const over = new AbortController();
  const found: (Anew | Error)[] = [];
  const told = (news: News) => {
    if (news.at === 'verifying') return progress(news.done, news.all);
    if (news.at === 'read') {
      const { outcome } = JSON.parse(visiting.here()) as Here;
      found.push({ digest: machine.digest(number), outcome });
    } else if (news.at === 'refused') found.push(new Refused(news.doubt));
    over.abort();
  };
  const keep = (act: (memory: DecisionMemory) => void) => {
    const memory = new DecisionMemory();
    act(memory);
    memory.free();
    return true;
  };
  const until = AbortSignal.any([signal, over.signal]);
  const visiting = new Visiting(machine, servers, clock, until, { keep, told, looked: () => {} });
  visiting.happened((now) => machine.wake(now));
  await ended(until);
  const first = found[0] ?? new LocalizedError(common.refusal.away);
  if (first instanceof Error) throw first;
  return first;
}
