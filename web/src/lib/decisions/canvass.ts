// Asks the servers of a join link, as the machine of the WASM module does it: which of them, how
// often, and when that is enough is decided there, as for the command line.

import { t } from '../../i18n/common';
import { ended, type Clock } from '../page/clock';
import { beginCanvass, type JoinCanvass } from '../page/cryptography';
import { Driver } from '../rooms/driver';
import { Problem, type Server } from '../servers/api';
import { LocalizedError } from '../servers/localized';
import { list, optional, record, text, type Of, type Shape } from '../servers/shape';

/** What servers are asked about a join link; bytes are in base64url. */
export type Call =
  | { keep: string }
  | { show: string }
  | { take: { link: string; request: string } }
  | { requests: { link: string; time: number; signature: string } }
  | { say: { link: string; word: string } };

const shownShape = list(record({ gathering: text, word: optional(text) }));
const requestsShape = list(record({ requests: list(text) }));

type Action =
  | { do: 'done'; answers: unknown }
  | { do: 'failed'; party: number; status: number; detail: string };

/** One of the servers. */
interface Operator {
  name: string;
  api: Pick<Server, 'carry'>;
}

/**
 * Has a machine ask, until `signal` aborts: what those servers show that have something to show.
 * Throws what says most of what they said if none of them has done it.
 */
export async function canvassBy(
  machine: JoinCanvass,
  operators: Operator[],
  clock: Clock,
  signal: AbortSignal,
): Promise<unknown> {
  const over = new AbortController();
  const ends: Action[] = [];
  const until = AbortSignal.any([signal, over.signal]);
  const servers = operators.map(({ api }) => api);
  const actions = () => machine.actions();
  const driver = new Driver<Action>(machine, servers, clock, until, actions, (action) => {
    if (!action) return;
    ends.push(action);
    over.abort();
  });
  driver.happened((now) => machine.wake(now));
  await ended(until);
  machine.free();
  const [end] = ends;
  signal.throwIfAborted();
  if (end?.do === 'done') return end.answers;
  throw end?.do === 'failed' ? errorOf(end, operators) : new Error(end);
}

function errorOf({ party, status, detail }: Action & { do: 'failed' }, of: Operator[]): Error {
  if (status !== 0) return new Problem(status, detail);
  return new LocalizedError(t.refusal.awayFrom(of[party]?.name ?? `P${party}`));
}

const never = new AbortController().signal;

/** What servers are asked about a join link. */
export class Canvass {
  constructor(
    private readonly operators: Operator[],
    private readonly clock: Clock,
    private readonly signal: AbortSignal = never,
  ) {}

  /** Has a new one kept. */
  async keep(link: string): Promise<void> {
    await this.ask({ keep: link });
  }

  /** A link as servers keep it, with what its creator has said; both in base64url. */
  show(id: string): Promise<Of<typeof shownShape>> {
    return this.read({ show: id }, shownShape);
  }

  /** Hands in the request of somebody who has the link. */
  async take(link: string, request: string): Promise<void> {
    await this.ask({ take: { link, request } });
  }

  /** The requests in base64url, for the creator, who signs the time. */
  async requests(link: string, time: bigint, signature: string): Promise<string[]> {
    const call = { requests: { link, time: Number(time), signature } };
    return (await this.read(call, requestsShape)).flatMap(({ requests }) => requests);
  }

  /** Hands in what the creator says. */
  async say(link: string, word: string): Promise<void> {
    await this.ask({ say: { link, word } });
  }

  private ask(call: Call): Promise<unknown> {
    return canvassBy(beginCanvass(JSON.stringify(call)), this.operators, this.clock, this.signal);
  }

  private async read<T>(call: Call, shape: Shape<T>): Promise<T> {
    return shape(await this.ask(call));
  }
}
