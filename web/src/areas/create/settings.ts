// What a host decides about a room, and what the servers allow.

import { roomFor } from '../../lib/rooms/seen/crowd';
import {
  canGoOn,
  type Engine,
  type NewRoom,
  type Policy,
  type Range,
} from '../../lib/hosts/hosting';
import { trustOf } from '../../lib/servers/trust';

/** What a room is opened for: decides about everything that is not changed by hand. */
export type Kind = 'lecture' | 'team' | 'vote';

/** How people get in. The last two are the same to the servers. */
export type Entry = 'open' | 'invited' | 'listed';

export interface Settings {
  entry: Entry;
  /** Bytes of the longest message. */
  size: number;
  seconds: number;
  capacity: number;
  minimum: number;
  /** How many people the host expects. */
  people: number;
  engine: Engine;
  mode: 'fair' | 'robust';
  /** Days after which texts are erased; `null` keeps them. */
  retention: number | null;
  /** The projector shows approved messages only, from the beginning. */
  moderated: boolean;
}

const KINDS: Record<Kind, Omit<Settings, 'moderated' | 'minimum' | 'capacity'>> = {
  lecture: {
    entry: 'open',
    size: 254,
    seconds: 6,
    people: 30,
    engine: 'ruffle',
    mode: 'fair',
    retention: 30,
  },
  team: {
    entry: 'invited',
    size: 1022,
    seconds: 20,
    people: 8,
    engine: 'ruffle',
    mode: 'fair',
    retention: 90,
  },
  vote: {
    entry: 'invited',
    size: 254,
    seconds: 10,
    people: 12,
    engine: 'ruffle',
    mode: 'fair',
    retention: 30,
  },
};

export const KIND_NAMES: readonly Kind[] = ['lecture', 'team', 'vote'];
const RETENTIONS: readonly (number | null)[] = [1, 7, 30, 90, 365, null];

/** Days for which texts may be kept, at servers that keep them `most` days; `null` for ever. */
export function retentions(most: number | null): (number | null)[] {
  if (most === null) return [...RETENTIONS];
  const shorter = RETENTIONS.filter((days) => days !== null && days < most);
  return [...shorter, most];
}

/** Bytes of a row that a text cannot use. */
const FRAME = 2;

const within = (value: number, [least, most]: Range) => Math.min(most, Math.max(least, value));

/** What a row must hold for messages of `size` bytes: whole words of eight bytes. */
export function payloadOf(size: number): number {
  return Math.ceil((size + FRAME) / 8) * 8;
}

/** Bytes of the longest message in rows of that size. */
export const sizeOf = (payload: number) => payload - FRAME;

/** The minimum and the places for so many people, as far as the servers allow them. */
export function forPeople(
  people: number,
  engine: Settings['engine'],
  { limits, servers }: Policy,
): { minimum: number; capacity: number } {
  const trust = trustOf(engine, servers);
  const { minimum, capacity } = roomFor(people, trust);
  const [least, most] = limits.capacity;
  const places = within(capacity, [least, most]);
  return { minimum: Math.max(1, Math.min(minimum, trust.mostMinimum(places))), capacity: places };
}

/**
 * The usual settings for a purpose, as far as the servers allow them. None of them says whether
 * messages are `moderated`.
 */
export function usual(kind: Kind, policy: Policy, moderated = false): Settings {
  const settings = KINDS[kind];
  const { limits } = policy;
  return {
    ...settings,
    ...forPeople(settings.people, settings.engine, policy),
    size: sizeOf(within(payloadOf(settings.size), limits.payload)),
    seconds: within(settings.seconds, limits.seconds),
    retention:
      limits.retention === null
        ? settings.retention
        : Math.min(settings.retention ?? Infinity, limits.retention),
    moderated,
  };
}

/** What happens when a server cheats, as far as the engine leaves a choice. */
export const modeOf = ({ engine, mode }: Settings) => (canGoOn(engine) ? mode : 'fair');

export function newRoom(name: string, purpose: string, host: string, settings: Settings): NewRoom {
  const { entry, size, retention, moderated: _, ...rest } = settings;
  return {
    ...rest,
    mode: modeOf(settings),
    name,
    purpose,
    host,
    admission: entry === 'open' ? 'open' : 'members',
    retention_days: retention,
    payload: payloadOf(size),
  };
}
