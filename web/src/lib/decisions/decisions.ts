// What the page asks of a server for private decisions by itself: about join links, and to write to
// people. What a visit and the beginning of a decision ask, the WASM module says.

import { at } from '../servers/address';
import { HttpServer, WORK } from '../servers/api';
import { flag, list, optional, record, text, type Of } from '../servers/shape';

const gatheringShape = record({ gathering: text, word: optional(text) });
const requestsShape = record({ requests: list(text) });
const mailShape = record({ mail: optional(flag) });

/** What a server is asked to send: a person's link, at the creator's signed wish. */
export interface MailRequest {
  person: number;
  address: string;
  link: string;
  locale: string;
  signature: string;
}

/** A join link as a server keeps it, with what its creator has said; both in base64url. */
export type GatheringInfo = Of<typeof gatheringShape>;

const bearer = (code: string): Record<string, string> =>
  code === '' ? {} : { authorization: `Bearer ${code}` };

/** Where decisions are kept. Server 0 takes them. */
export class DecisionServer extends HttpServer {
  /** Decisions begin with `token`, if the server's policy asks for one. */
  constructor(
    origin: string,
    private readonly token = '',
  ) {
    super(origin);
  }

  protected override proofs(path: string): Record<string, string> {
    return path === 'decisions' ? bearer(this.token) : {};
  }

  /** Keeps a join link; `code` is what the server's policy asks for. */
  async gather(link: Uint8Array, code: string): Promise<void> {
    await this.give(at('gatherings', {}), link, bearer(code));
  }

  async gathering(id: string): Promise<GatheringInfo> {
    return gatheringShape(JSON.parse(await this.ask(at('gatherings/{id}', { id }))));
  }

  /** Asks to take part. */
  async askToJoin(id: string, request: Uint8Array): Promise<void> {
    await this.give(at('gatherings/{id}/requests', { id }), request);
  }

  /** The requests in base64url, for the creator, who signs the time. */
  async requestsToJoin(id: string, time: bigint, signature: string): Promise<string[]> {
    const query = `time=${time}&signature=${signature}`;
    const path = at('gatherings/{id}/requests', { id }, query);
    return requestsShape(JSON.parse(await this.ask(path))).requests;
  }

  /** Keeps what the creator says of the requests. */
  async answerRequests(id: string, word: Uint8Array): Promise<void> {
    await this.give(at('gatherings/{id}/word', { id }), word);
  }

  /** Whether this server sends e-mail. */
  async sendsMail(): Promise<boolean> {
    return mailShape(JSON.parse(await this.ask(at('servers', {})))).mail ?? false;
  }

  /** Has a person's link sent. Resolves when the mail server has taken the message. */
  async mail(id: string, request: MailRequest): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    await this.ask(
      at('decisions/{id}/mail', { id }),
      { method: 'POST', headers, body: JSON.stringify(request) },
      WORK,
    );
  }
}
