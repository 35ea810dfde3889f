// What this browser keeps of messages: encrypted, in its database, under a key that pages can use
// and cannot read.
//
// A messages client seals its own state with a key of the room's. That key lies beside it, locked
// with a key of the browser's that is not extractable: whoever copies what this site keeps through
// the page has nothing that opens it. Who copies the whole browser has.

import { t } from '../../i18n/common';
import { StorageFull } from '../../lib/rooms/part/outbox';

/** What is kept for a room. */
interface Kept {
  /** The room's key, locked. */
  iv: Uint8Array<ArrayBuffer>;
  locked: ArrayBuffer;
  /** The client's state, sealed with it; `null` before there is one. */
  sealed: Uint8Array | null;
}

const KEY_BYTES = 32;
const IV_BYTES = 12;
/** The name of the browser's own key among its keys. */
const OWN = 'messages';

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('the storage failed'));
  });
}

function database(): Promise<IDBDatabase> {
  const request = indexedDB.open('ostrakon-messages', 1);
  request.onupgradeneeded = () => {
    for (const name of ['keys', 'rooms']) request.result.createObjectStore(name);
  };
  return settled(request);
}

/** Writes, and resolves when it is on the disk. */
function written(
  database: IDBDatabase,
  store: string,
  write: (store: IDBObjectStore) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(store, 'readwrite', { durability: 'strict' });
    transaction.oncomplete = () => resolve();
    const failed = () => reject(new StorageFull(t.refusal.full));
    transaction.onabort = transaction.onerror = failed;
    write(transaction.objectStore(store));
  });
}

/** The name of the lock that the tab holds which takes part in a room for messages. */
export const lockOf = (room: string) => `ostrakon/messages/${room}`;

/** What is kept for one room: only the tab that holds the room's lock may open it. */
export class Keeping {
  private forgotten = false;

  private constructor(
    private readonly database: IDBDatabase,
    private readonly room: string,
    private readonly kept: Kept,
    /** The room's key. It stays in this page's memory. */
    readonly key: Uint8Array,
  ) {}

  /** Opens what was kept, or makes a key for what will be. */
  static async open(room: string): Promise<Keeping> {
    const opened = await database();
    const own = await ownKey(opened);
    const about = { name: 'AES-GCM', additionalData: new TextEncoder().encode(room) };
    const store = opened.transaction('rooms', 'readonly').objectStore('rooms');
    const found = (await settled(store.get(room))) as Kept | undefined;
    if (found) {
      const key = await crypto.subtle.decrypt({ ...about, iv: found.iv }, own, found.locked);
      return new Keeping(opened, room, found, new Uint8Array(key));
    }
    const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
    const locked = await crypto.subtle.encrypt({ ...about, iv }, own, key);
    return new Keeping(opened, room, { iv, locked, sealed: null }, key);
  }

  /** The client's state as it was kept; `null` if there is none. */
  get sealed(): Uint8Array | null {
    return this.kept.sealed;
  }

  /**
   * Writes the client's state down. What was given later is on the disk later. Throws {@link
   * StorageFull} if that is not possible: then nothing may leave the device.
   */
  async save(sealed: Uint8Array): Promise<void> {
    if (this.forgotten) throw new StorageFull(t.refusal.full);
    this.kept.sealed = sealed;
    await written(this.database, 'rooms', (store) => store.put(this.kept, this.room));
  }

  /** Forgets everything of the room; nothing is written any more. */
  async forget(): Promise<void> {
    this.forgotten = true;
    this.key.fill(0);
    await written(this.database, 'rooms', (store) => store.delete(this.room));
  }

  close(): void {
    this.forgotten = true;
    this.database.close();
  }
}

/** The browser's own key, which no page can read. */
async function ownKey(opened: IDBDatabase): Promise<CryptoKey> {
  const find = () =>
    settled(opened.transaction('keys', 'readonly').objectStore('keys').get(OWN)) as Promise<
      CryptoKey | undefined
    >;
  const found = await find();
  if (found) return found;
  const made = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, [
    'encrypt',
    'decrypt',
  ]);
  // Another tab, for another room, may have made one meanwhile: whose comes first stays.
  await written(opened, 'keys', (store) => {
    const before = store.get(OWN);
    before.onsuccess = () => before.result ?? store.put(made, OWN);
  });
  return (await find()) ?? made;
}

/** Forgets what is kept for a room, unless a tab takes part in it. Whether that was done. */
export function forgetMessages(room: string): Promise<boolean> {
  return navigator.locks.request(lockOf(room), { ifAvailable: true }, async (lock) => {
    if (!lock) return false;
    const opened = await database();
    await written(opened, 'rooms', (store) => store.delete(room));
    opened.close();
    return true;
  });
}
