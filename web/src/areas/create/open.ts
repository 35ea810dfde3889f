// Opens a room and checks that it is the one that was asked for.

import { Problem } from '../../lib/api';
import { DeviceKey, loadCryptography, serversDigest } from '../../lib/cryptography';
import { connect, type Deployment, type Pin } from '../../lib/deployment';
import { HostingServer, type NewRoom } from '../../lib/hosting';
import { Told } from '../../lib/told';
import { t } from '../../messages/create';
import { isAsAsked, newRoom, type Settings } from './settings';

export interface Opened {
  pin: Pin;
  name: string;
  /** The host key's seed, for the host link. */
  seed: string;
  settings: Settings;
}

/** Milliseconds between two looks for the room, and how many. */
const PAUSE = 500;
const LOOKS = 30;

/** Makes the host's key here and asks the servers for the room. */
export async function openRoom(name: string, purpose: string, settings: Settings, code: string, origin: string): Promise<Opened> {
  await loadCryptography();
  const key = DeviceKey.generate();
  const list = await new HostingServer(origin).servers();
  const room = newRoom(name, purpose, key.publicKey(), settings);
  const elsewhere = list.servers.filter(({ party }) => party !== list.you).map(({ url }) => url);
  const pin = { room: await createAt([origin, ...elsewhere], room, code), servers: serversDigest(list.raw) };
  const deployment = await shown(pin, origin);
  if (!isAsAsked(deployment.descriptor, room)) throw new Told(t.altered);
  return { pin, name, seed: key.invitation(), settings };
}

/** One of the servers opens rooms; the others say that it is another one. */
async function createAt(origins: string[], room: NewRoom, code: string): Promise<string> {
  let failure: unknown;
  for (const origin of origins) {
    try {
      return await new HostingServer(origin).create(room, code);
    } catch (error) {
      failure = error;
      if (!(error instanceof Problem && error.status === 421)) throw error;
    }
  }
  throw failure;
}

/** The room, as soon as the servers show it. */
async function shown(pin: Pin, origin: string): Promise<Deployment> {
  for (let look = 0; look < LOOKS; look++) {
    try {
      return await connect(pin, origin);
    } catch (error) {
      if (!(error instanceof Problem && error.status === 404)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  throw new Told(t.unreachable);
}
