// Opens a room, checks that it is the one that was asked for, and says in it what its host wants to
// be so from the beginning.

import { Actor } from '../../lib/hosts/acting';
import { Problem } from '../../lib/servers/api';
import { systemClock, type Clock } from '../../lib/page/clock';
import {
  DeviceKey,
  HostLog,
  beginHosting,
  loadCryptography,
  serversDigest,
} from '../../lib/page/cryptography';
import { connect, type Deployment, type Pin } from '../../lib/servers/deployment';
import { forget, remember, type Storage } from '../../lib/hosts/hosted';
import { HostingServer, type NewRoom } from '../../lib/hosts/hosting';
import { reasonOf, type Reason } from '../../lib/servers/reason';
import { LocalizedError } from '../../lib/servers/localized';
import { t } from '../../i18n/create';
import { isAsAsked, newRoom, type Settings } from './settings';

export interface Opened {
  pin: Pin;
  name: string;
  /** The host key's seed, for the host link. */
  seed: string;
  settings: Settings;
  /** As it was asked for. */
  room: NewRoom;
  /** Whether this browser keeps the host's key. */
  kept: boolean;
}

/** The page's surroundings. */
export interface Around {
  origin: string;
  storage: Storage;
  at: (origin: string) => Pick<HostingServer, 'servers' | 'create' | 'carry'>;
  connect: (pin: Pin, origin: string) => Promise<Deployment>;
  clock: Clock;
}

export const browser = (): Around => ({
  origin: location.origin,
  storage: localStorage,
  at: (origin) => new HostingServer(origin),
  connect,
  clock: systemClock,
});

/** Milliseconds between two looks for the room, and how many. */
const PAUSE = 500;
const LOOKS = 30;

/** Asks the servers for rooms, in a host's name. */
export class Asking {
  /** What was asked for last, and the host's key for it. */
  private last: { wish: string; key: DeviceKey } | null = null;

  constructor(private readonly around: Around) {}

  /**
   * Makes the host's key here and asks the servers for the room. The key is kept as soon as the
   * room has a name, before anything else can fail: nobody can make another one for it.
   */
  async create(name: string, purpose: string, settings: Settings, code: string): Promise<Opened> {
    await loadCryptography();
    const { origin, storage, at } = this.around;
    const key = this.keyFor(JSON.stringify([name, purpose, settings]));
    const list = await at(origin).servers();
    const room = newRoom(name, purpose, key.publicKey(), settings);
    const elsewhere = list.servers.filter(({ party }) => party !== list.you).map(({ url }) => url);
    const pin = {
      servers: serversDigest(list.raw),
      room: await createAt([origin, ...elsewhere], room, code, at),
    };
    this.last = null;
    const seed = key.invitation();
    const kept = remember(storage, {
      ...pin,
      name,
      seed,
      ...(settings.moderated && { moderate: true }),
    });
    return { pin, name, seed, settings, room, kept };
  }

  /**
   * The same key if the same is asked for again: where only the answer was lost, the servers give
   * the room that is there.
   */
  private keyFor(wish: string): DeviceKey {
    if (this.last?.wish !== wish) this.last = { wish, key: DeviceKey.generate() };
    return this.last.key;
  }
}

/**
 * Waits until the servers show the room, and does what is to be so from the beginning. Why that was
 * not done; `null` if it was. Throws if the room is not to be seen yet, or another one than the one
 * asked for, which is forgotten.
 */
export async function settle(
  { pin, name, seed, settings, room }: Opened,
  around: Around,
): Promise<Reason | null> {
  const deployment = await shown(pin, around);
  if (!isAsAsked(deployment.descriptor, room)) {
    forget(around.storage, { room: pin.room, seed });
    throw new Altered(t.altered);
  }
  if (!settings.moderated) return null;
  try {
    await moderate(deployment, seed, around);
  } catch (error) {
    return reasonOf(error, 'act');
  }
  remember(around.storage, { ...pin, name, seed });
  return null;
}

/** The room is not the one that was asked for. */
export class Altered extends LocalizedError {}

/** The host's first action: from now on the projector shows what was approved. */
async function moderate(
  { operators, servers, descriptor }: Deployment,
  seed: string,
  { at, clock }: Around,
): Promise<void> {
  const log = new HostLog(servers, descriptor);
  const asked = operators.map(({ origin }) => at(origin));
  const machine = beginHosting(log, DeviceKey.fromInvitation(seed), false);
  const leaving = new AbortController();
  const actor = new Actor(machine, asked, log, clock, leaving.signal, () => undefined);
  try {
    await actor.act(() => ({ moderate: { on: true } }));
  } finally {
    leaving.abort();
  }
}

/** One of the servers opens rooms; the others say that it is another one. */
async function createAt(
  origins: string[],
  room: NewRoom,
  code: string,
  at: Around['at'],
): Promise<string> {
  let failure: unknown;
  for (const origin of origins) {
    try {
      return await at(origin).create(room, code);
    } catch (error) {
      failure = error;
      if (!(error instanceof Problem && error.status === 421)) throw error;
    }
  }
  throw failure;
}

/** The room, as soon as the servers show it. */
async function shown(pin: Pin, { origin, connect, clock }: Around): Promise<Deployment> {
  for (let look = 0; look < LOOKS; look++) {
    try {
      return await connect(pin, origin);
    } catch (error) {
      if (!(error instanceof Problem && error.status === 404)) throw error;
    }
    await clock.sleep(PAUSE, new AbortController().signal);
  }
  throw new LocalizedError(t.unreachable);
}
