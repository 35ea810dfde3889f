// The rooms that this browser hosts, so that a host who has lost the link finds the room again.

/** The part of `localStorage` that is used. */
export type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>;

export interface Hosted {
  name: string;
  room: string;
  servers: string;
  /** The host key's seed, as in the host link. */
  seed: string;
}

const NAME = 'ostrakon/hosted';

function isHosted(value: unknown): value is Hosted {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  return ['name', 'room', 'servers', 'seed'].every((field) => typeof fields[field] === 'string');
}

export function hostedRooms(storage: Storage): Hosted[] {
  try {
    const kept: unknown = JSON.parse(storage.getItem(NAME) ?? '[]');
    return Array.isArray(kept) ? kept.filter(isHosted) : [];
  } catch {
    // The host links still open the rooms.
    return [];
  }
}

/** The host's key that is kept for a room; where there are several, the one that was used last. */
export function hostKey(storage: Storage, room: string): Hosted | undefined {
  return hostedRooms(storage).find((hosted) => hosted.room === room);
}

/**
 * Remembers a room, the newest first; one that was there is brought up to date. Whether that could be done: the browser's
 * storage may be full.
 */
export function remember(storage: Storage, hosted: Hosted): boolean {
  const others = hostedRooms(storage).filter((other) => other.room !== hosted.room || other.seed !== hosted.seed);
  try {
    storage.setItem(NAME, JSON.stringify([hosted, ...others]));
    return true;
  } catch {
    return false;
  }
}

export function forget(storage: Storage, hosted: Hosted): void {
  storage.setItem(NAME, JSON.stringify(hostedRooms(storage).filter((other) => other.seed !== hosted.seed)));
}
