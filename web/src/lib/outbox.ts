// The device's key and its message for one room, kept in the browser's storage.

import { t } from '../messages/common';
import { DeviceKey, Outbox } from './cryptography';

/** The part of `localStorage` that is used. */
export type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** What this device keeps for a room: only the tab that holds the room's lock may open it. */
export class Keepsake {
  private forgotten = false;

  private constructor(
    private readonly storage: Storage,
    private readonly name: string,
    readonly key: DeviceKey,
    readonly outbox: Outbox,
  ) {}

  /** Whether this browser has taken part in the room before. */
  static known(storage: Storage, room: string): boolean {
    return storage.getItem(nameOf(room)) !== null;
  }

  /**
   * Opens what was kept, or begins anew. An `invitation` names the key to take part with; the one that was used before
   * is given up for it, except while something is on its way under that key: it could come out twice.
   */
  static open(storage: Storage, room: string, invitation?: string): Keepsake {
    const name = nameOf(room);
    const kept = read(storage.getItem(name));
    const invited = invitation === undefined ? undefined : DeviceKey.fromInvitation(invitation);
    const outbox = kept?.outbox ?? new Outbox();
    const same = invited?.publicKey() === kept?.key.publicKey();
    if (kept && invited && !same && outbox.awaited() !== undefined) throw new Error(t.refusal.occupied);
    const keepsake = new Keepsake(storage, name, invited ?? kept?.key ?? DeviceKey.generate(), outbox);
    keepsake.save();
    return keepsake;
  }

  /** Forgets the room for good: its key and whatever was not said. */
  forget(): void {
    this.forgotten = true;
    this.storage.removeItem(this.name);
  }

  /** Writes everything down. To be called before anything computed from the outbox leaves the device. */
  save(): void {
    if (this.forgotten) return;
    this.storage.setItem(this.name, JSON.stringify({ seed: [...this.key.seed()], outbox: this.outbox.save() }));
  }
}

function nameOf(room: string): string {
  return `ostrakon/room/${room}`;
}

function read(text: string | null): { key: DeviceKey; outbox: Outbox } | null {
  if (text === null) return null;
  try {
    const { seed, outbox } = JSON.parse(text) as { seed: number[]; outbox: string };
    return { key: DeviceKey.fromSeed(Uint8Array.from(seed)), outbox: Outbox.restore(outbox) };
  } catch {
    // Beginning anew on one's own would lose a message without a word.
    throw new Error(t.refusal.spoilt);
  }
}
