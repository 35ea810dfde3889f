// What this device has seen of the rooms that it takes part in, to be read when no server answers.
// It is what servers said, and is verified again whenever it is read. A browser that keeps nothing
// does without.

/** A room's documents, as its servers gave them. */
export interface KeptRoom {
  servers: string;
  descriptor: unknown;
}

/** The two lists of a room. */
export type Kind = 'entries' | 'actions';

const KINDS: readonly Kind[] = ['entries', 'actions'];

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('the storage failed'));
  });
}

function open(): Promise<IDBDatabase> {
  const request = indexedDB.open('ostrakon', 1);
  request.onupgradeneeded = () => {
    for (const name of ['rooms', ...KINDS]) request.result.createObjectStore(name);
  };
  return settled(request);
}

/** Every key of a room: `[room, index]`. */
const all = (room: string) => IDBKeyRange.bound([room, 0], [room, Infinity]);

export class Kept {
  private database: Promise<IDBDatabase> | undefined;

  private async store(name: string, mode: IDBTransactionMode): Promise<IDBObjectStore> {
    this.database ??= open();
    return (await this.database).transaction(name, mode).objectStore(name);
  }

  async room(room: string): Promise<KeptRoom | null> {
    return quietly(
      async () =>
        ((await settled((await this.store('rooms', 'readonly')).get(room))) as
          KeptRoom | undefined) ?? null,
      null,
    );
  }

  async keepRoom(room: string, documents: KeptRoom): Promise<void> {
    await quietly(
      async () =>
        void (await settled((await this.store('rooms', 'readwrite')).put(documents, room))),
      undefined,
    );
  }

  async list(kind: Kind, room: string): Promise<unknown[]> {
    return quietly(
      async () =>
        (await settled((await this.store(kind, 'readonly')).getAll(all(room)))) as unknown[],
      [],
    );
  }

  /** Keeps `items` from place `from` on; what was there before is replaced. */
  async keep(kind: Kind, room: string, from: number, items: unknown[]): Promise<void> {
    await quietly(async () => {
      const store = await this.store(kind, 'readwrite');
      await Promise.all(items.map((item, index) => settled(store.put(item, [room, from + index]))));
    }, undefined);
  }

  async forget(room: string): Promise<void> {
    await quietly(async () => {
      await settled((await this.store('rooms', 'readwrite')).delete(room));
      for (const kind of KINDS)
        await settled((await this.store(kind, 'readwrite')).delete(all(room)));
    }, undefined);
  }
}

async function quietly<T>(act: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await act();
  } catch {
    return otherwise;
  }
}
