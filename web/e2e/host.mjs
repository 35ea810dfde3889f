// Somebody who leads a room, without a page: keys and actions as the browsers make them.

import { readFile } from 'node:fs/promises';

import {
  DeviceKey,
  HostLog,
  initSync,
  roomCode,
  roomId,
  serversDigest,
} from '../src/wasm/ostrakon_wasm.js';

initSync({ module: await readFile(new URL('../src/wasm/ostrakon_wasm_bg.wasm', import.meta.url)) });

/**
 * @param {string} url
 * @param {unknown} [body]
 */
async function ask(url, body) {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
  const answer = await fetch(url, body === undefined ? {} : init);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text}`);
  return text;
}

/** The public key of an invitation. @param {string} invitation */
export const keyOf = (invitation) => DeviceKey.fromInvitation(invitation).publicKey();

export class Host {
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
   */
  static async open(origin, settings) {
    const key = DeviceKey.generate();
    const sized = { payload: 256, capacity: 64, seconds: 6, host: key.publicKey(), ...settings };
    const { descriptor } = JSON.parse(await ask(`${origin}/api/v1/rooms`, sized));
    const servers = await ask(`${origin}/api/v1/servers`);
    const text = JSON.stringify(descriptor);
    const room = roomId(text);
    return new Host(
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

  /** Makes an invitation: the last part of its link. */
  async invite() {
    const key = DeviceKey.generate();
    await this.act({ invite: { keys: [key.publicKey()] } });
    return key.invitation();
  }

  /** Asks a question, to be answered in the epoch that is sealed after `epochs` others. @param {object} poll @param {number} epochs */
  async poll(poll, epochs) {
    const { epoch } = JSON.parse(await ask(`${this.origin}/api/v1/rooms/${this.room}/status`));
    await this.act({ poll: { poll: { ...poll, epoch: epoch.number + epochs } } });
  }
}
