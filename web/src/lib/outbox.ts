// The device's key and its message for one room, kept in the browser's storage.

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
    const kept = read(storage.getItem(name));
    const key = kept ? DeviceKey.fromSeed(kept.seed) : DeviceKey.generate();
    const outbox = kept ? Outbox.restore(kept.outbox) : new Outbox();
    const keepsake = new Keepsake(storage, name, key, outbox);
    keepsake.save();
    return keepsake;
  }

  /** Writes everything down. To be called before anything computed from the outbox leaves the device. */
  save(): void {
    this.storage.setItem(this.name, JSON.stringify({ seed: [...this.key.seed()], outbox: this.outbox.save() }));
  }
}

function read(text: string | null): { seed: Uint8Array; outbox: string } | null {
  if (text === null) return null;
  const { seed, outbox } = JSON.parse(text) as { seed: number[]; outbox: string };
  return { seed: Uint8Array.from(seed), outbox };
}
