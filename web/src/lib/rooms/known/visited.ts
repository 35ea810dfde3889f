// The rooms in which this device takes part, so that its user finds them again. Who only reads
// along leaves no trace here.

import { count, flag, list, optional, record, text } from '../../servers/shape';

/** The part of `localStorage` that is used. */
export type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>;

export interface Visited {
  name: string;
  room: string;
  servers: string;
  /** When this device was there last: milliseconds since 1970. */
  at: number;
  /** It is for messages between two people. */
  messages?: boolean | undefined;
}

const NAME = 'ostrakon/visited';
/** Rooms that are listed at most: the oldest ones are dropped, but not forgotten. */
const MOST = 200;

const keptShape = list(
  record({ name: text, room: text, servers: text, at: optional(count), messages: optional(flag) }),
);

/** The rooms, the one that was visited last first. */
export function visitedRooms(storage: Storage): Visited[] {
  try {
    const rooms = keptShape(JSON.parse(storage.getItem(NAME) ?? '[]'));
    return rooms
      .map((room) => ({ ...room, at: room.at ?? 0, messages: room.messages ?? undefined }))
      .sort((a, b) => b.at - a.at);
  } catch {
    // The links still open the rooms.
    return [];
  }
}

/** Notes that this device is in a room. A full storage keeps the list as it is. */
export function visit(storage: Storage, visited: Visited): void {
  const others = visitedRooms(storage).filter(({ room }) => room !== visited.room);
  write(storage, [visited, ...others].slice(0, MOST));
}

/** Takes a room off the list. */
export function unlist(storage: Storage, room: string): void {
  write(
    storage,
    visitedRooms(storage).filter((other) => other.room !== room),
  );
}

function write(storage: Storage, rooms: Visited[]): void {
  try {
    storage.setItem(NAME, JSON.stringify(rooms));
  } catch {
    // The list is a convenience; the links still open the rooms.
  }
}
