// The device's key and its message for one room, kept in the browser's storage.

import { t } from '../messages/common';
import { DeviceKey, Outbox } from './cryptography';

/** The part of `localStorage` that is used. */
export type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>;

/** What this device keeps for a room: only the tab that holds the room's lock may open it. */
export class Keepsake {
  private constructor(
    private readonly storage: Storage,
    private readonly name: string,
    readonly key: DeviceKey,
    readonly outbox: Outbox,
  ) {}

  /** Opens what was kept, or begins anew. */
  static open(storage: Storage, room: string): Keepsake {
    const name = `ostrakon/room/${room}`;
    const { key, outbox } = read(storage.getItem(name)) ?? { key: DeviceKey.generate(), outbox: new Outbox() };
    const keepsake = new Keepsake(storage, name, key, outbox);
    keepsake.save();
    return keepsake;
  }

  /** Writes everything down. To be called before anything computed from the outbox leaves the device. */
  save(): void {
    this.storage.setItem(this.name, JSON.stringify({ seed: [...this.key.seed()], outbox: this.outbox.save() }));
  }
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
