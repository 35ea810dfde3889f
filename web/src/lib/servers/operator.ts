// What an operator asks of their own server: the server of this page's origin, and no other, is
// shown the token.

import { at, type Filled } from './address';
import { Problem } from './api';
import {
  count,
  flag,
  list,
  Malformed,
  oneOf,
  optional,
  record,
  text,
  type Of,
  type Shape,
} from './shape';

const number: Shape<number> = (value) => {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new Malformed('a number expected');
  return value;
};

const peerShape = record({
  party: count,
  name: text,
  url: text,
  key: text,
  reach: oneOf('direct', 'relayed', 'none'),
  silent_for: optional(count),
  version: optional(text),
  certificate_expires: optional(count),
  clock_ahead_ms: optional(number),
  trouble: optional(text),
});

const epochShape = record({
  room: text,
  number: count,
  outcome: oneOf('published', 'too-few', 'cheated', 'failed', 'may-have-opened'),
  slots: optional(count),
  accepted: optional(count),
  seconds: record({ collect: optional(number), mix: optional(number), sign: optional(number) }),
});

const roomShape = record({
  id: text,
  name: text,
  state: oneOf('open', 'closed'),
  payload: count,
  capacity: count,
  seconds: count,
  minimum: count,
  mode: text,
  present: count,
  board_length: count,
  epochs: count,
  computing: count,
});

const overviewShape = record({
  version: text,
  protocol: count,
  party: count,
  since: count,
  now: count,
  ready: flag,
  certificate_expires: optional(count),
  warnings: list(
    record({
      kind: oneOf(
        'unreachable',
        'other-version',
        'clock-off',
        'disk-low',
        'certificate-expiring',
        'stock-empty',
        'epoch-overdue',
        'repeated-aborts',
      ),
      party: count,
      text,
    }),
  ),
  peers: list(peerShape),
  clock_bound_ms: count,
  stock: list(
    record({
      engine: text,
      rows: count,
      width: count,
      usable: count,
      preparing: count,
      needed: flag,
    }),
  ),
  stock_history: list(record({ at: count, usable: count })),
  rooms: list(roomShape),
  epochs: list(epochShape),
  disk: optional(record({ free: count, total: count, stock: count, stock_limit: count })),
  queues: record({ intake_tenths: count, announcements_tenths: count }),
});

const faultShape = record({
  seen_at: count,
  culprit: count,
  what: text,
  finding: oneOf('proved', 'signed', 'unproven'),
});

const auditShape = record({ id: count, at: count, actor: text, action: text, detail: text });

export type Overview = Of<typeof overviewShape>;
export type Peer = Of<typeof peerShape>;
export type PastEpoch = Of<typeof epochShape>;
export type OperatedRoom = Of<typeof roomShape>;
export type Sample = Overview['stock_history'][number];
export type AuditRecord = Of<typeof auditShape>;
/** A fault; `file` is the whole file, as the server wrote it. */
export type Fault = Of<typeof faultShape> & { file: string };

/** Milliseconds after which an answer is given up. */
const PATIENCE = 20_000;

export class OperatorApi {
  constructor(private readonly token: string) {}

  async overview(): Promise<Overview> {
    return overviewShape(await this.ask(at('operator/overview', {})));
  }

  async faults(): Promise<Fault[]> {
    const files = list((file: unknown) => file)(await this.ask(at('operator/faults', {})));
    return files.map((file) => ({ ...faultShape(file), file: JSON.stringify(file, null, 2) }));
  }

  /** The newest records whose number is below `before`. */
  async audit(before: number | null): Promise<AuditRecord[]> {
    return list(auditShape)(
      await this.ask(
        at('operator/audit', {}, `count=50${before === null ? '' : `&before=${before}`}`),
      ),
    );
  }

  async setLog(filter: string): Promise<void> {
    await this.ask(at('operator/log', {}), {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ filter }),
    });
  }

  async closeRoom(id: string): Promise<void> {
    await this.ask(at('rooms/{id}', { id }), { method: 'DELETE' });
  }

  /** Closes a room at all servers, and takes it off this one for good. */
  async deleteRoom(id: string): Promise<void> {
    await this.ask(at('operator/rooms/{id}', { id }), { method: 'DELETE' });
  }

  private ask(path: Filled, init: RequestInit = {}): Promise<unknown> {
    return askWith(this.token, path, init);
  }
}

/** What the server of this page's origin answers to whoever has its operator's token. */
export async function askWith(token: string, path: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(path, {
    cache: 'no-store',
    credentials: 'omit',
    ...init,
    headers: { ...init.headers, authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(PATIENCE),
  });
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) throw new Problem(response.status, detailOf(answer, response.status));
  return answer;
}

function detailOf(answer: unknown, status: number): string {
  try {
    return record({ detail: text })(answer).detail;
  } catch {
    return `HTTP ${status}`;
  }
}

const KEPT = 'ostrakon/operator';

/** The token lives as long as the tab. */
export const kept = {
  read: (): string | null => sessionStorage.getItem(KEPT),
  write: (token: string): void => sessionStorage.setItem(KEPT, token),
  forget: (): void => sessionStorage.removeItem(KEPT),
};
