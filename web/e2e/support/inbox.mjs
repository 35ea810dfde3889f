// A mail server on this machine that keeps what it is given.

import { setTimeout as pause } from 'node:timers/promises';

import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';

/** Looks for a message, and milliseconds between two. */
const LOOKS = 300;
const PAUSE = 100;

export class Inbox {
  /** @type {import('postal-mime').Email[]} */
  letters = [];
  url = '';

  /** Takes everything but what is for somebody called `nobody`. */
  constructor() {
    this.server = new SMTPServer({
      disabledCommands: ['AUTH', 'STARTTLS'],
      disableReverseLookup: true,
      onRcptTo: ({ address }, _, done) =>
        done(address.startsWith('nobody@') ? new Error('no such person') : null),
      onData: (stream, _, done) => void this.take(stream).then(() => done(), done),
    });
  }

  static async open() {
    const inbox = new Inbox();
    await new Promise((resolve) => inbox.server.listen(0, '127.0.0.1', () => resolve(undefined)));
    const address = inbox.server.server.address();
    if (address === null || typeof address === 'string')
      throw new Error('the mail server has no port');
    inbox.url = `smtp://127.0.0.1:${address.port}`;
    return inbox;
  }

  /** @param {AsyncIterable<Uint8Array>} stream */
  async take(stream) {
    const parts = [];
    for await (const part of stream) parts.push(part);
    this.letters.push(await PostalMime.parse(Buffer.concat(parts)));
  }

  /**
   * Waits for a message to this address.
   *
   * @param {string} address
   * @returns {Promise<{ subject: string, text: string, link: string }>} with the link in it
   */
  async letter(address) {
    for (let look = 0; look < LOOKS; look++) {
      const found = this.letters.find(({ to }) => to?.some((one) => one.address === address));
      if (found) {
        const text = found.text ?? '';
        return { subject: found.subject ?? '', text, link: /https?:\/\/\S+/.exec(text)?.[0] ?? '' };
      }
      await pause(PAUSE);
    }
    throw new Error(`no message came for ${address}`);
  }

  async close() {
    await new Promise((resolve) => this.server.close(() => resolve(undefined)));
  }
}
