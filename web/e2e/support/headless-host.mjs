// Somebody who leads a room, without a page: keys and actions as the browsers make them.

import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

import {
  DeviceKey,
  HostLog,
  initSync,
  roomCode,
  roomId,
  serversDigest,
} from '../../src/wasm/ostrakon_wasm.js';

initSync({
  module: await readFile(new URL('../../src/wasm/ostrakon_wasm_bg.wasm', import.meta.url)),
});

/** Milliseconds after which a server is believed to be gone. */
const GONE = 120_000;

/**
 * @param {string} url
 * @param {unknown} [body]
 * @param {Record<string, string>} [headers]
 */
async function ask(url, body, headers = {}) {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
  const signal = AbortSignal.timeout(GONE);
  const answer = await fetch(url, body === undefined ? { signal } : { ...init, signal });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text}`);
  return text;
}

/** The public key of an invitation. @param {string} invitation */
export const keyOf = (invitation) => DeviceKey.fromInvitation(invitation).publicKey();

export class HeadlessHost {
  /**
   * @param {string} origin of the first server, which takes the actions
   * @param {DeviceKey} key
   * @param {string} room
   * @param {string} code
   * @param {HostLog} log
   * @param {string} route what the room's links end with
   */
  constructor(origin, key, room, code, log, route) {
    this.origin = origin;
    this.key = key;
    this.room = room;
    this.code = code;
    this.log = log;
    this.route = route;
  }

  /**
   * Opens a room of one's own.
   *
   * @param {string} origin
   * @param {object} settings
   * @param {string} [token] of the administrator who opens it
   */
  static async open(origin, settings, token) {
    const key = DeviceKey.generate();
    const sized = {
      payload: 256,
      capacity: 64,
      seconds: 2,
      minimum: 1,
      host: key.publicKey(),
      ...settings,
    };
    const { descriptor } = JSON.parse(
      await ask(`${origin}/api/v1/rooms`, sized, token ? { authorization: `Bearer ${token}` } : {}),
    );
    const servers = await ask(`${origin}/api/v1/servers`);
    const text = JSON.stringify(descriptor);
    const room = roomId(text);
    return new HeadlessHost(
      origin,
      key,
      room,
      roomCode(room),
      new HostLog(servers, text),
      `#/room/${room}/${serversDigest(servers)}`,
    );
  }

  /** @param {object | string} deed */
  async act(deed) {
    const signed = this.log.act(
      this.key,
      BigInt(Math.floor(Date.now() / 1000)),
      JSON.stringify(deed),
    );
    await ask(`${this.origin}/api/v1/rooms/${this.room}/actions`, signed);
    this.log.read(`[${signed}]`);
  }

  /** The link with which somebody is this host in a browser. @param {string} origin */
  link(origin) {
    return `${origin}/${this.route.replace('#/room/', '#/host/')}/${this.key.invitation()}`;
  }

  /**
   * Where a message stands on the board: its epoch, and its place among those of that epoch.
   * @param {string} text
   */
  async target(text) {
    const url = `${this.origin}/api/v1/rooms/${this.room}/board?from=0&wait=0`;
    for (const { entry } of JSON.parse(await ask(url)).entries) {
      const index = entry.messages.findIndex((/** @type {any} */ message) =>
        Buffer.from(message.kept?.body ?? []).includes(text),
      );
      if (index >= 0) return { epoch: entry.epoch.number, index };
    }
    throw new Error(`"${text}" is not on the board`);
  }

  /** Makes an invitation: the last part of its link. */
  async invite() {
    const key = DeviceKey.generate();
    await this.act({ invite: { keys: [key.publicKey()] } });
    return key.invitation();
  }

  /** The number of the epoch that collects. */
  async epoch() {
    for (;;) {
      const { epoch } = JSON.parse(await ask(`${this.origin}/api/v1/rooms/${this.room}/status`));
      if (epoch) return epoch.number;
      // The next one opens as soon as there is stock for it.
      await pause(50);
    }
  }

  /**
   * Asks a question, to be answered in the epoch that is sealed after `epochs` others.
   * @param {object} poll
   * @param {number} epochs
   */
  async poll(poll, epochs) {
    await this.act({ poll: { poll: { ...poll, epoch: (await this.epoch()) + epochs } } });
  }
}
