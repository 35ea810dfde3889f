// The device's key and its message for one room, kept in the browser's storage.

import { t } from '../../../i18n/common';
import { DeviceKey, Outbox } from '../../page/cryptography';
import { flag, list, count, optional, record, text } from '../../servers/shape';
import { LocalizedError } from '../../servers/localized';

/** The part of `localStorage` that is used. */
export type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** What is written down. */
const keptShape = record({
  seed: list(count),
  outbox: text,
  /** The secret of an invitation that is not taken yet. */
  invitation: optional(text),
  /** Whether another device goes on with the key. */
  moved: optional(flag),
});

/** What a file with a key for another device holds beside that. */
const fileShape = record({ room: text, seed: list(count), outbox: text });

interface Kept {
  key: DeviceKey;
  outbox: Outbox;
  invitation: string | null;
  moved: boolean;
}

/**
 * What is written down takes a multiple of so many letters. So a room takes its place in the
 * browser's storage when it is entered, and what is said later does not fail because the storage is
 * full.
 */
const ROUND = 8_192;

/**
 * The browser's storage is full, or does not take anything: nothing may leave the device that is
 * not written down.
 */
export class StorageFull extends LocalizedError {}

/** What this device keeps for a room: only the tab that holds the room's lock may open it. */
export class RoomStore {
  private forgotten = false;
  /** Called whenever something was written down, and with `false` when it could not be. */
  watch: (kept: boolean) => void = () => undefined;

  private constructor(
    private readonly storage: Storage,
    private readonly room: string,
    private readonly kept: Kept,
  ) {}

  /** This device's key in the room. It never leaves the device, except to move to another one. */
  get key(): DeviceKey {
    return this.kept.key;
  }

  get outbox(): Outbox {
    return this.kept.outbox;
  }

  /**
   * The secret of an invitation that this device wants to take for its key; `null` if there is
   * none.
   */
  get invitation(): string | null {
    return this.kept.invitation;
  }

  /** Whether another device goes on with the key. Then this one does nothing with it any more. */
  get moved(): boolean {
    return this.kept.moved;
  }

  /** Whether this browser has taken part in the room before. */
  static known(storage: Storage, room: string): boolean {
    return storage.getItem(nameOf(room)) !== null;
  }

  /**
   * The public key that is kept for a room, and the invitation for it; to look at without the
   * room's lock.
   */
  static glance(storage: Storage, room: string): { key: string; invitation: string | null } | null {
    const kept = read(storage.getItem(nameOf(room)));
    return kept && { key: kept.key.publicKey(), invitation: kept.invitation };
  }

  /** Opens what was kept, or begins anew, with an `invitation` to be taken if one is given. */
  static open(storage: Storage, room: string, invitation?: string): RoomStore {
    const fresh = (): Kept => ({
      key: DeviceKey.generate(),
      outbox: new Outbox(),
      invitation: null,
      moved: false,
    });
    const kept = read(storage.getItem(nameOf(room))) ?? fresh();
    const store = new RoomStore(
      storage,
      room,
      invitation === undefined ? kept : { ...kept, invitation },
    );
    store.save();
    return store;
  }

  /**
   * Takes over the key that another device has given up. What was kept here must have nothing on
   * its way.
   */
  static adopt(storage: Storage, room: string, file: string): void {
    const found = readFile(file);
    if (found?.room !== room) throw new LocalizedError(t.refusal.otherKey);
    const before = read(storage.getItem(nameOf(room)));
    const same = before?.key.publicKey() === found.kept.key.publicKey();
    if (before && !same && before.outbox.message() !== undefined)
      throw new LocalizedError(t.refusal.occupied);
    if (before && same && !before.moved) throw new LocalizedError(t.refusal.sameKey);
    new RoomStore(storage, room, found.kept).save();
  }

  /** The invitation is taken, or needless. */
  settle(): void {
    this.kept.invitation = null;
    this.trySave();
  }

  /**
   * Gives the key up for another device: what that one opens, to go on where this one stopped.
   * Throws {@link StorageFull} if that cannot be written down; then this device keeps the key.
   */
  move(): string {
    const before = this.kept.moved;
    this.kept.moved = true;
    try {
      this.save();
    } catch (error) {
      this.kept.moved = before;
      throw error;
    }
    this.forgotten = true;
    return JSON.stringify({
      room: this.room,
      seed: [...this.key.seed()],
      outbox: this.outbox.save(),
    });
  }

  /** Writes nothing any more. */
  release(): void {
    this.forgotten = true;
  }

  /** Forgets the room for good: its key and whatever was not said. */
  forget(): void {
    this.forgotten = true;
    this.storage.removeItem(nameOf(this.room));
  }

  /**
   * Writes everything down. To be called before anything computed from the outbox leaves the
   * device. Throws {@link StorageFull} if that is not possible: then nothing may leave.
   */
  save(): void {
    if (!this.trySave()) throw new StorageFull(t.refusal.full);
  }

  /**
   * Writes everything down; false if that is not possible now. What is not written down is so with
   * the next success.
   */
  trySave(): boolean {
    if (this.forgotten) return true;
    const { key, outbox, invitation, moved } = this.kept;
    const kept = JSON.stringify({
      seed: [...key.seed()],
      outbox: outbox.save(),
      invitation,
      moved,
    });
    let done = true;
    try {
      this.storage.setItem(nameOf(this.room), kept.padEnd(Math.ceil(kept.length / ROUND) * ROUND));
    } catch {
      done = false;
    }
    this.watch(done);
    return done;
  }
}

/** The name of the lock that the tab holds which takes part in a room. */
export const lockOf = (room: string) => `ostrakon/room/${room}`;

/** Forgets what is kept for a room, unless a tab takes part in it. Whether that was done. */
export function forgetRoom(storage: Storage, room: string): Promise<boolean> {
  return navigator.locks.request(lockOf(room), { ifAvailable: true }, (lock) => {
    if (lock) storage.removeItem(nameOf(room));
    return lock !== null;
  });
}

function nameOf(room: string): string {
  return `ostrakon/room/${room}`;
}

function read(kept: string | null): Kept | null {
  if (kept === null) return null;
  try {
    const { seed, outbox, invitation, moved } = keptShape(JSON.parse(kept));
    return {
      key: DeviceKey.fromSeed(Uint8Array.from(seed)),
      outbox: Outbox.restore(outbox),
      invitation,
      moved: moved ?? false,
    };
  } catch {
    // Beginning anew on one's own would lose a message without a word.
    throw new LocalizedError(t.refusal.spoilt);
  }
}

function readFile(file: string): { room: string; kept: Kept } | null {
  try {
    const { room, seed, outbox } = fileShape(JSON.parse(file));
    const key = DeviceKey.fromSeed(Uint8Array.from(seed));
    return { room, kept: { key, outbox: Outbox.restore(outbox), invitation: null, moved: false } };
  } catch {
    return null;
  }
}
