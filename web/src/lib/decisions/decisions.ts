// What private decisions ask of a server: one-time keys, the chain of records, openings.

import { at } from '../servers/address';
import { HttpServer, WORK } from '../servers/api';
import { count, flag, list, oneOf, optional, record, text, type Of } from '../servers/shape';

const receiptShape = record({ receipt: text });
const stockShape = record({ stock: count, wanted: count });
const layerShape = record({ party: count, layer: text });
const madeShape = record({ id: text });
const takenShape = record({ number: count });
const wordShape = record({ party: count, signature: text });
const gatheringShape = record({ gathering: text, word: optional(text) });
const requestsShape = record({ requests: list(text) });
const infoShape = record({
  records: count,
  head: text,
  stage: oneOf('accepting', 'answering', 'closed', 'done', 'lapsed', 'cancelled'),
  refusal: optional(text),
});
const mailShape = record({ mail: optional(flag) });
const pageShape = record({
  records: list(text),
  openings: list(record({ party: count, opening: text })),
});

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
export type StockLevel = Of<typeof stockShape>;
/** How a decision stands at a server, as that server says. */
export type DecisionInfo = Of<typeof infoShape>;
/** Records in base64url, and what the servers have opened. */
export type RecordsPage = Of<typeof pageShape>;
export type Opening = RecordsPage['openings'][number];

const bearer = (code: string): Record<string, string> =>
  code === '' ? {} : { authorization: `Bearer ${code}` };

/** Where decisions are kept. Server 0 takes records and stock. */
export class DecisionServer extends HttpServer {
  /** The server's signed key for shares, as JSON for the cryptography. */
  helper(): Promise<string> {
    return this.ask(at('helper', {}));
  }

  /** Hands in a share of a one-time key and returns the receipt. */
  async deposit(deposit: Uint8Array): Promise<string> {
    return receiptShape(JSON.parse(await this.give(at('shares', {}), deposit))).receipt;
  }

  /** The level of an account's stock, for its owner, who signs the time. */
  async stock(account: string, time: bigint, signature: string): Promise<StockLevel> {
    const path = at('accounts/{key}', { key: account }, `time=${time}&signature=${signature}`);
    return stockShape(JSON.parse(await this.ask(path)));
  }

  /** The server's signature that it has a record, as JSON for the cryptography. */
  async receipt(id: string, number: number): Promise<string> {
    const path = at('decisions/{id}/receipts/{number}', { id, number: `${number}` });
    return JSON.stringify(wordShape(JSON.parse(await this.ask(path))));
  }

  async addToStock(account: string, keys: Uint8Array): Promise<StockLevel> {
    return stockShape(
      JSON.parse(await this.give(at('accounts/{key}/keys', { key: account }), keys)),
    );
  }

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

  async decision(id: string): Promise<DecisionInfo> {
    return infoShape(JSON.parse(await this.ask(at('decisions/{id}', { id }))));
  }

  /**
   * Records from number `from` on: at once, or within `wait` seconds as soon as there is more than
   * that and `opened` openings.
   */
  async records(
    id: string,
    from: number,
    opened = 0,
    wait = 0,
    signal?: AbortSignal,
  ): Promise<RecordsPage> {
    const path = at('decisions/{id}/records', { id }, `from=${from}&opened=${opened}&wait=${wait}`);
    return pageShape(JSON.parse(await this.ask(path, signal ? { signal } : {}, WORK)));
  }

  /**
   * Hands in the next record and returns its number. Server 0 takes it; another one holds it, and
   * asks server 0 to take it.
   */
  async append(id: string, signed: Uint8Array): Promise<number> {
    return takenShape(JSON.parse(await this.give(at('decisions/{id}/records', { id }), signed)))
      .number;
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
