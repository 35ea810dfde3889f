// The public HTTP interface of one server.

import { t } from '../../i18n/common';
import { at, type Answer, type Filled, type PartOf } from './address';
import { LocalizedError } from './localized';
import { Malformed, count, list, record, text, type Of } from './shape';

const serversShape = record({
  you: count,
  session: text,
  servers: list(record({ party: count, name: text, url: text, key: text })),
});

const codeShape = record({ room: text, servers: text });

/**
 * The servers of a deployment, as one of them lists them; `raw` is the answer as it was received.
 */
export type ServerList = Of<typeof serversShape> & { raw: string };
/** How a room stands, as far as it is read here. */
export interface Status {
  version: number;
  epoch: {
    number: number;
    phase: 'collecting' | 'waiting-for-stock';
    closes_in_ms: number | null;
    assigned: number;
    submitted: number;
  } | null;
  mixing: { number: number }[];
  last: { number: number; outcome: string; detail: string } | null;
  present: number[];
  places: number[];
  board_length: number;
  actions: number;
  /** Why the epoch is not closed, or not opened, if it could have been for a while. */
  overdue: { for_ms: number; by: number[] } | null;
}

/** The servers' document promises all that is read here. */
export type Promised = [
  PartOf<Answer<'ServersInfo'>, Of<typeof serversShape>>,
  PartOf<Answer<'Status'>, Status>,
  PartOf<Answer<'CodeInfo'>, Of<typeof codeShape>>,
];

/** A server's refusal (RFC 9457). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    detail: string,
  ) {
    super(detail);
  }
}

/** Reads the list of servers as one of them gave it. */
export function readServers(raw: string): ServerList {
  return { ...serversShape(JSON.parse(raw)), raw };
}

/** A request that the WASM module made. */
export interface Request {
  /** Path and query below `/api/v1/`. */
  path: string;
  /** What is to be posted; `null` if there is nothing. */
  body: string | null;
  /** Whether that is bytes, in base64url; otherwise it is JSON. */
  bytes: boolean;
  /** Milliseconds that the server may take. */
  patience: number;
}

/** What came back: the HTTP status, and the body. */
export interface Reply {
  status: number;
  body: string;
}

/** What the page asks of a server. */
export interface Server {
  servers(): Promise<ServerList>;
  /**
   * Sends a request of the WASM module's; the status is 0 if no answer came in time, or before
   * `signal` aborted.
   */
  carry(request: Request, signal: AbortSignal): Promise<Reply>;
  /** The room with a short code, and the digest of the servers, as this server names them. */
  code(code: string): Promise<{ room: string; servers: string }>;
}

/**
 * Milliseconds after which an answer is given up; and one that is short, and that everything else
 * waits for.
 */
const PATIENCE = 15_000;
const SOON = 10_000;
/** Milliseconds that a server may take to verify what it is given. */
export const WORK = 60_000;
/**
 * Bytes of an answer that are read at most; of what the WASM module asks for, which may be a page
 * of a board with one large epoch; and of who the servers are and what a room is, of whom nothing
 * is known yet.
 */
const MOST = 32 << 20;
const MOST_CARRIED = 160 << 20;
const MOST_FIRST = 1 << 20;
const FIRST = /^(servers|rooms\/[^/?]+)$/;

/** A server at an origin. */
export class HttpServer implements Server {
  constructor(private readonly origin: string) {}

  async servers(): Promise<ServerList> {
    return readServers(await this.ask(at('servers', {}), {}, SOON));
  }

  async carry({ path, body, bytes, patience }: Request, signal: AbortSignal): Promise<Reply> {
    const most = FIRST.test(path) ? MOST_FIRST : MOST_CARRIED;
    try {
      const init =
        body === null
          ? {}
          : bytes
            ? given(fromBase64(body), this.proofs(path))
            : posted(body, this.proofs(path));
      return await this.exchange(`/api/v1/${path}`, { ...init, signal }, patience, most);
    } catch {
      return { status: 0, body: '' };
    }
  }

  async code(code: string): Promise<{ room: string; servers: string }> {
    return codeShape(JSON.parse(await this.ask(at('codes/{code}', { code }))));
  }

  /** Headers of what the WASM module posts to a path, by which one may do so. */
  protected proofs(_path: string): Record<string, string> {
    return {};
  }

  protected async ask(path: Filled, init: RequestInit = {}, patience = PATIENCE): Promise<string> {
    const { status, body } = await this.exchange(path, init, patience, MOST);
    if (status < 200 || status >= 300) throw new Problem(status, detailOf(body));
    return body;
  }

  /** Hands in bytes, as what needs no JSON is. */
  protected give(
    path: Filled,
    bytes: Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<string> {
    return this.ask(path, given(bytes, headers), WORK);
  }

  private async exchange(
    path: string,
    init: RequestInit,
    patience: number,
    most: number,
  ): Promise<Reply> {
    const limit = AbortSignal.timeout(patience);
    const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
    const options: RequestInit = { cache: 'no-store', credentials: 'omit', ...init, signal };
    return whole(`${this.origin}${path}`, options, most);
  }
}

function given(bytes: Uint8Array, headers: Record<string, string> = {}): RequestInit {
  const body = new Blob([bytes.slice()]);
  return {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream', ...headers },
    body,
  };
}

function posted(body: string, headers: Record<string, string>): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
}

/**
 * An answer with all of its text. Browsers word a failure each in their own way, and in English.
 */
async function whole(address: string, options: RequestInit, most: number): Promise<Reply> {
  try {
    const response = await fetch(address, options);
    return { status: response.status, body: await textOf(response, most) };
  } catch (error) {
    throw error instanceof Malformed ? error : new LocalizedError(t.refusal.away);
  }
}

/** Reads an answer as it comes, and gives it up as soon as it is longer than any answer may be. */
async function textOf(response: Response, most: number): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return '';
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > most) {
      void reader.cancel();
      throw new Malformed(`it has more than ${most} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

function detailOf(answer: string): string {
  try {
    return record({ detail: text })(JSON.parse(answer)).detail;
  } catch {
    return 'the server refused without saying why';
  }
}

/** base64url without padding. */
export function toBase64(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export function fromBase64(encoded: string): Uint8Array {
  const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
