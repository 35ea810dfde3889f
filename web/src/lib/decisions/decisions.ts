// What the page asks of a server for private decisions by itself: to write to people. What a visit,
// the beginning of a decision and a join link ask, the WASM module says.

import { at } from '../servers/address';
import { HttpServer, WORK } from '../servers/api';
import { flag, optional, record } from '../servers/shape';

const mailShape = record({ mail: optional(flag) });

/** What a server is asked to send: a person's link, at the creator's signed wish. */
export interface MailRequest {
  person: number;
  address: string;
  link: string;
  locale: string;
  signature: string;
}

const bearer = (code: string): Record<string, string> =>
  code === '' ? {} : { authorization: `Bearer ${code}` };

/** Where decisions are kept. Server 0 takes them. */
export class DecisionServer extends HttpServer {
  /** Decisions and join links begin with `token`, if the server's policy asks for one. */
  constructor(
    origin: string,
    private readonly token = '',
  ) {
    super(origin);
  }

  protected override proofs(path: string): Record<string, string> {
    return path === 'decisions' || path === 'gatherings' ? bearer(this.token) : {};
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
