// What the page asks of a server for private decisions by itself: to make one, by a join link or
// not, and to write to people. What a visit asks, the WASM module says.

import { at } from '../servers/address';
import { HttpServer, WORK } from '../servers/api';
import { count, flag, list, optional, record, text, type Of } from '../servers/shape';

const layerShape = record({ party: count, layer: text });
const madeShape = record({ id: text });
const gatheringShape = record({ gathering: text, word: optional(text) });
const requestsShape = record({ requests: list(text) });
const infoShape = record({ records: count });
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
  /** The operator's layer for a draft, in base64url. */
  async layer(draft: Uint8Array): Promise<string> {
    return layerShape(JSON.parse(await this.give(at('layers', {}), draft))).layer;
  }

  /** Begins a decision; `code` is what the server's policy asks for. */
  async begin(first: Uint8Array, code: string): Promise<string> {
    return madeShape(JSON.parse(await this.give(at('decisions', {}), first, bearer(code)))).id;
  }

  /** Keeps a join link; `code` as for {@link DecisionServer.begin}. */
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

  /** How many records a decision has there, as the server says. */
  async records(id: string): Promise<number> {
    return infoShape(JSON.parse(await this.ask(at('decisions/{id}', { id })))).records;
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
