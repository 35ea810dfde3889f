// The rooms that this browser knows, as they are listed: those in which it takes part, and those
// that its user hosts.

import { forgetMessages } from '../../../areas/messages/keeping';
import { chatPath, hostPath, roomPath } from '../../page/addresses';
import { forget, hostKey, hostedRooms, type Hosted } from '../../hosts/hosted';
import { Kept } from './kept';
import { forgetRoom } from '../part/outbox';
import { prepare } from '../../hosts/prepared';
import { unlist, visitedRooms, type Visited } from './visited';

/** The part of `localStorage` that is used. */
export type Storage = globalThis.Storage;

/**
 * A room of the list; `id` differs from all others', also from that of the same room in another
 * role or with another key.
 */
export type OwnRoom = { id: string; href: string } & (
  { kind: 'visited'; room: Visited } | { kind: 'hosted'; room: Hosted }
);

type Reading = Pick<Storage, 'getItem' | 'setItem'>;

export function roomsVisited(storage: Reading): OwnRoom[] {
  return visitedRooms(storage).map((room) => ({
    kind: 'visited',
    id: room.room,
    href: room.messages ? chatPath(room) : roomPath(room),
    room,
  }));
}

/**
 * The address names a key only where it is not the one by which the room's page is opened anyway.
 */
export function roomsHosted(storage: Reading): OwnRoom[] {
  return hostedRooms(storage).map((room) => {
    const seed = hostKey(storage, room.room)?.seed === room.seed ? undefined : room.seed;
    return { kind: 'hosted', id: `${room.room} ${room.seed}`, href: hostPath(room, seed), room };
  });
}

/**
 * Forgets a host's key. Several may be kept for one room; what was prepared goes with the last one.
 */
export function forgetHosted(
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
  hosted: Hosted,
): void {
  forget(storage, hosted);
  if (!hostKey(storage, hosted.room)) prepare(storage, hosted.room, []);
}

/** Forgets a room on this device; whether that was done: not while another tab takes part in it. */
export async function forgetOwn(storage: Storage, own: OwnRoom): Promise<boolean> {
  if (own.kind === 'hosted') {
    forgetHosted(storage, own.room);
    return true;
  }
  const { room, messages } = own.room;
  if (!(await (messages ? forgetMessages(room) : forgetRoom(storage, room)))) return false;
  await new Kept().forget(room);
  unlist(storage, room);
  return true;
}
