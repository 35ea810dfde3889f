// The rooms that this browser hosts, so that a host who has lost the link finds the room again.

/** The part of `localStorage` that is used. */
export type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>;

export interface Hosted {
  name: string;
  room: string;
  servers: string;
  /** The host key's seed, as in the host link. */
  seed: string;
  /**
   * Its host wants the projector to show approved messages only, and that has not been said in the
   * room yet.
   */
  moderate?: boolean;
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

const isSame = (a: Pick<Hosted, 'room' | 'seed'>, b: Pick<Hosted, 'room' | 'seed'>) =>
  a.room === b.room && a.seed === b.seed;

/** Whether the room is still to be told that its projector shows approved messages only. */
export function isToModerate(storage: Storage, hosted: Pick<Hosted, 'room' | 'seed'>): boolean {
  return hostedRooms(storage).some((other) => isSame(other, hosted) && other.moderate === true);
}

/**
 * Remembers a room, the newest first; one that was there is brought up to date. Whether that could
 * be done: the browser's storage may be full.
 */
export function remember(storage: Storage, hosted: Hosted): boolean {
  const others = hostedRooms(storage).filter((other) => !isSame(other, hosted));
  try {
    storage.setItem(NAME, JSON.stringify([hosted, ...others]));
    return true;
  } catch {
    return false;
  }
}

export function forget(storage: Storage, hosted: Pick<Hosted, 'room' | 'seed'>): void {
  storage.setItem(
    NAME,
    JSON.stringify(hostedRooms(storage).filter((other) => !isSame(other, hosted))),
  );
}
