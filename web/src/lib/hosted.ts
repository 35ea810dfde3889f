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

/** Remembers a room, the newest first; one that was there is brought up to date. */
export function remember(storage: Storage, hosted: Hosted): void {
  const others = hostedRooms(storage).filter((other) => other.room !== hosted.room || other.seed !== hosted.seed);
  storage.setItem(NAME, JSON.stringify([hosted, ...others]));
}

export function forget(storage: Storage, hosted: Hosted): void {
  storage.setItem(NAME, JSON.stringify(hostedRooms(storage).filter((other) => other.seed !== hosted.seed)));
}
