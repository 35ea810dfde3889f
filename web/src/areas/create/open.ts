// Opens a room, keeps its host's key, and says in it what its host wants to be so from the
// beginning.

import { Actor } from '../../lib/hosts/acting';
import { remember, type Storage } from '../../lib/hosts/hosted';
import { HostingServer } from '../../lib/hosts/hosting';
import { Opening } from '../../lib/hosts/opening';
import { systemClock, type Clock } from '../../lib/page/clock';
import {
  DeviceKey,
  HostLog,
  beginHosting,
  beginOpening,
  loadCryptography,
  serversDigest,
} from '../../lib/page/cryptography';
import type { Server, ServerList } from '../../lib/servers/api';
import type { Pin } from '../../lib/servers/deployment';
import { reasonOf, type Reason } from '../../lib/servers/reason';
import { newRoom, type Settings } from './settings';

export interface Opened {
  pin: Pin;
  name: string;
  /** The host key's seed, for the host link. */
  seed: string;
  settings: Settings;
  /** Its descriptor as JSON. */
  descriptor: string;
  /** The servers, as one of them lists them. */
  list: ServerList;
  /** How far it is shown. */
  opening: Opening;
  /** Whether this browser keeps the host's key. */
  kept: boolean;
}

/** The page's surroundings. */
export interface Around {
  origin: string;
  storage: Storage;
  /** A server; what is posted there is posted with `code`. */
  at: (origin: string, code?: string) => Pick<Server, 'servers' | 'carry'>;
  clock: Clock;
}

export const browser = (): Around => ({
  origin: location.origin,
  storage: localStorage,
  at: (origin, code) => new HostingServer(origin, code),
  clock: systemClock,
});

/** Asks the servers for rooms, in a host's name. */
export class Asking {
  /** What was asked for last, and the host's key for it. */
  private last: { wish: string; key: DeviceKey } | null = null;

  constructor(private readonly around: Around) {}

  /**
   * Makes the host's key here and asks the servers for the room: the one that the page came from,
   * and others if that says so. The key is kept as soon as the room has a name, before anything
   * else can fail: nobody can make another one for it.
   */
  async create(name: string, purpose: string, settings: Settings, code: string): Promise<Opened> {
    await loadCryptography();
    const { origin, storage, at, clock } = this.around;
    const key = this.keyFor(JSON.stringify([name, purpose, settings]));
    const list = await at(origin).servers();
    const wish = JSON.stringify(newRoom(name, purpose, key.publicKey(), settings));
    const elsewhere = list.servers.map(({ party }) => party).filter((party) => party !== list.you);
    const machine = beginOpening(list.raw, [list.you, ...elsewhere], wish);
    const opening = new Opening(machine, serversOf(list, this.around, code), clock);
    const servers = serversDigest(list.raw);
    const seed = key.invitation();
    const moderate = settings.moderated && { moderate: true };
    let kept = false;
    const { room, descriptor } = await opening.open(({ room }) => {
      kept = remember(storage, { servers, room, name, seed, ...moderate });
    });
    this.last = null;
    const pin = { servers, room };
    return { pin, name, seed, settings, descriptor, list, opening, kept };
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

/** All servers by their numbers; the page's own by its origin. */
function serversOf({ servers, you }: ServerList, { origin, at }: Around, code?: string) {
  return servers.map(({ party, url }) => at(party === you ? origin : url, code));
}

/**
 * Waits until the servers show the room, and does what is to be so from the beginning. Why that was
 * not done; `null` if it was. Throws if the room is not to be seen yet.
 */
export async function settle(opened: Opened, around: Around): Promise<Reason | null> {
  const { pin, name, seed, settings, opening } = opened;
  await opening.shown();
  if (!settings.moderated) return null;
  try {
    await moderate(opened, around);
  } catch (error) {
    return reasonOf(error, 'act');
  }
  remember(around.storage, { ...pin, name, seed });
  return null;
}

/** The host's first action: from now on the projector shows what was approved. */
async function moderate({ list, descriptor, seed }: Opened, around: Around): Promise<void> {
  const log = new HostLog(list.raw, descriptor);
  const machine = beginHosting(log, DeviceKey.fromInvitation(seed), false);
  const leaving = new AbortController();
  const servers = serversOf(list, around);
  const actor = new Actor(machine, servers, log, around.clock, leaving.signal, () => undefined);
  try {
    await actor.act(() => ({ moderate: { on: true } }));
  } finally {
    leaving.abort();
  }
}
