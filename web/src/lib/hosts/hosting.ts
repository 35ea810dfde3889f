// What a host asks of a server: whether it opens rooms, and of what sizes.

import { at } from '../servers/address';
import { HttpServer } from '../servers/api';
import { count, list, oneOf, opaque, optional, record, text } from '../servers/shape';

const rangeShape = optional(list(count));
const policyShape = record({
  session: text,
  servers: list(opaque),
  create: optional(oneOf('administrator', 'token', 'anyone')),
  limits: optional(
    record({
      payload: rangeShape,
      capacity: rangeShape,
      seconds: rangeShape,
      retention_days: optional(count),
    }),
  ),
});

/** Least and most. */
export type Range = readonly [number, number];

/** Who may open rooms at a server, and of what sizes. */
export interface Policy {
  /** How many servers the deployment has. */
  servers: number;
  create: 'administrator' | 'token' | 'anyone';
  limits: {
    payload: Range;
    capacity: Range;
    seconds: Range;
    /** Days for which texts are kept at most; `null` if they may stay. */
    retention: number | null;
  };
}

/** Who mixes a room's messages: by name, whether it can go on when a server cheats. */
const ENGINES = { ruffle: true, clarion: false };

export type Engine = keyof typeof ENGINES;
export const ENGINE_NAMES = Object.keys(ENGINES) as Engine[];

/** Whether an engine leaves a choice of what happens when a server cheats. */
export const canGoOn = (engine: Engine) => ENGINES[engine];

/** A room to be opened. */
export interface NewRoom {
  name: string;
  purpose: string;
  host: string;
  admission: 'open' | 'members';
  retention_days: number | null;
  payload: number;
  capacity: number;
  seconds: number;
  minimum: number;
  people: number | null;
  engine: Engine;
  mode: 'fair' | 'robust';
}

function range(found: number[] | null | undefined, usual: Range): Range {
  const [least, most] = found ?? [];
  return least === undefined || most === undefined || least > most ? usual : [least, most];
}

export class HostingServer extends HttpServer {
  constructor(
    origin: string,
    private readonly permission = '',
  ) {
    super(origin);
  }

  async policy(): Promise<Policy> {
    const { create, limits, servers } = policyShape(JSON.parse(await this.ask(at('servers', {}))));
    return {
      servers: servers.length,
      create: create ?? 'administrator',
      limits: {
        payload: range(limits?.payload, [32, 4096]),
        capacity: range(limits?.capacity, [3, 4096]),
        seconds: range(limits?.seconds, [1, 604_800]),
        retention: limits?.retention_days ?? null,
      },
    };
  }

  /** What is posted is posted with the code that the server's policy asks for. */
  protected override proofs(): Record<string, string> {
    return this.permission === '' ? {} : { authorization: `Bearer ${this.permission}` };
  }
}
