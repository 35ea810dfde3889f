// Contributions on this device: the same bytes go to all servers, also after a reload. They are
// too large for the browser's smaller storage.

const DATABASE = 'ostrakon-contributions';
const STORE = 'contributions';

/** A contribution that was made here. Once all servers have it the bytes are not kept. */
export interface Kept {
  bytes: Uint8Array | null;
  /** What each server is told first of a long one. */
  announced: string[];
}

function opened(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  return settled(request);
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('the browser keeps nothing'));
  });
}

/** What was put is on disk when the transaction is finished, not when it was asked for. */
function finished(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error('no room in this browser'));
  });
}

/** One contribution for each person of each computation. */
const place = (id: string, person: string): string => `${id}/${person}`;

export async function keep(id: string, person: string, kept: Kept): Promise<void> {
  const database = await opened();
  try {
    const transaction = database.transaction(STORE, 'readwrite', { durability: 'strict' });
    transaction.objectStore(STORE).put(kept, place(id, person));
    await finished(transaction);
  } finally {
    database.close();
  }
}

/**
 * Keeps a contribution unless there is one, and returns the one that stands there: two tabs that
 * contribute at the same time hand in the same, since of a key that signs two neither counts.
 */
export async function keepFirst(id: string, person: string, made: Kept): Promise<Kept> {
  const database = await opened();
  try {
    const transaction = database.transaction(STORE, 'readwrite', { durability: 'strict' });
    const done = finished(transaction);
    const store = transaction.objectStore(STORE);
    const found = await settled<Kept | undefined>(store.get(place(id, person)));
    if (!found) store.add(made, place(id, person));
    await done;
    return found ?? made;
  } finally {
    database.close();
  }
}

export async function kept(id: string, person: string): Promise<Kept | null> {
  const database = await opened();
  try {
    const store = database.transaction(STORE).objectStore(STORE);
    return (await settled<Kept | undefined>(store.get(place(id, person)))) ?? null;
  } finally {
    database.close();
  }
}
