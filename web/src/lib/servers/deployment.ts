// From a link to the servers that it pins.

import { HttpServer, Problem, readServers, type RoomInfo, type Server } from './api';
import { systemClock, type Clock } from '../page/clock';
import { messageLimit, roomId, serversDigest } from '../page/cryptography';
import type { Params } from '../page/routes';
import { count, oneOf, opaque, optional, record, text } from './shape';
import { NOBODY, trustOf, type Trust } from './trust';

/** Milliseconds for which a second server's word is waited for once there is one. */
const SECOND = 3_000;

/** What a link says, apart from where it was opened. */
export interface Pin {
  room: string;
  servers: string;
}

/** One server of a deployment. */
export interface Operator<S extends Server = Server> {
  party: number;
  name: string;
  origin: string;
  api: S;
}

/** A room whose servers and settings are the ones that the link names. */
export interface Deployment {
  pin: Pin;
  operators: Operator[];
  /** The servers' list as JSON, for the cryptography. */
  servers: string;
  /** The room's descriptor as JSON, for the cryptography. */
  descriptor: string;
  /** What the servers bear, by the room's engine. */
  trust: Trust;
  name: string;
  /** What the room is for, in the host's words; may be empty. */
  purpose: string;
  /** Somebody leads the room: asks polls, pins and hides what is on the wall. */
  hosted: boolean;
  /** Only keys that the host has admitted take part. */
  members: boolean;
  /** It is for messages between two people, and has no wall. */
  messages: boolean;
  /** Days after which the servers erase what was said; `null` if it stays. */
  retention: number | null;
  seconds: number;
  /** What the room was opened with; hosts may have lowered it. */
  minimum: number;
  /** How many people the host expects. */
  people: number | null;
  /** Participants that one epoch has room for. */
  capacity: number;
  /** Bytes of the longest message. */
  limit: number;
  /**
   * Whether a server that is proved honest finishes an epoch alone after another one cheated, and
   * so learns who wrote what.
   */
  robust: boolean;
  closed: boolean;
}

/** The servers are not the ones that the link names: nothing must be sent. */
export class WrongServers extends Error {}

/**
 * The room is for messages between two people: what is on its board is sealed, and no wall. It has
 * a page of its own.
 */
export class ForMessages extends Error {}

const settingsShape = record({
  name: text,
  purpose: text,
  host: opaque,
  admission: oneOf('open', 'members', 'messages'),
  retention_days: optional(count),
  seconds: count,
  minimum: count,
  people: optional(count),
  capacity: count,
  mode: oneOf('fair', 'robust'),
});
const engineShape = record({ engine: text });

/** What so many servers bear of a room. */
function borneBy(operators: Operator[], descriptor: unknown): Trust {
  return trustOf(engineShape(descriptor).engine, operators.length);
}

/** The room that an address names, whose parts a route has matched. */
export function pinOf({ room = '', servers = '' }: Params): Pin {
  return { room, servers };
}

/** What was kept of a room, for when its servers do not answer. */
export interface Documents {
  servers: string;
  descriptor: unknown;
}

/** As {@link connectAny}; throws {@link ForMessages} if the room has no wall. */
export async function connect(...wishes: Parameters<typeof connectAny>): Promise<Deployment> {
  const deployment = await connectAny(...wishes);
  if (deployment.messages) throw new ForMessages();
  return deployment;
}

/**
 * Asks the server that the page came from for the others, and every one of them whether it says the
 * same. Where none answers, what was `kept` stands in, which must be what the link names as well;
 * not if enough servers say that the room is no more.
 *
 * Throws {@link WrongServers} if a server that answers is not one of the link's, or if none shows
 * the link's room and one another.
 */
export async function connectAny(
  pin: Pin,
  origin: string,
  kept: Documents | null = null,
  at = (url: string): Server => new HttpServer(url),
  clock = systemClock,
): Promise<Deployment> {
  const { raw, operators } = await operatorsOf(pin.servers, origin, at, kept?.servers);
  const { descriptor, closed } = await roomOf(pin, operators, kept, clock);
  const { host, admission, retention_days, mode, ...settings } = settingsShape(
    JSON.parse(descriptor),
  );
  return {
    pin,
    operators,
    servers: raw,
    descriptor,
    trust: borneBy(operators, JSON.parse(descriptor)),
    ...settings,
    hosted: host !== null && host !== undefined,
    members: admission === 'members',
    messages: admission === 'messages',
    retention: retention_days,
    limit: messageLimit(descriptor),
    robust: mode === 'robust',
    closed,
  };
}

/**
 * The servers with the given digest, asked as {@link connect} does; `kept` is their list as it was
 * seen before.
 *
 * Throws {@link WrongServers} if a server that answers is not one of them.
 */
export async function operatorsOf<S extends Server>(
  digest: string,
  origin: string,
  at: (url: string) => S,
  kept?: string,
): Promise<{ raw: string; operators: Operator<S>[] }> {
  const entrance = at(origin);
  const list = await entrance.servers().catch((error: unknown) => {
    if (kept === undefined) throw error;
    return readServers(kept);
  });
  if (serversDigest(list.raw) !== digest) throw new WrongServers(origin);
  const operators = list.servers.map(({ party, name, url }): Operator<S> => {
    const home = party === list.you;
    return { party, name, origin: home ? origin : url, api: home ? entrance : at(url) };
  });
  await Promise.all(operators.map((operator) => confirm(operator, digest)));
  return { raw: list.raw, operators };
}

/**
 * A server that does not answer is merely away; one that names other servers is not one of ours.
 */
async function confirm(operator: Operator, digest: string): Promise<void> {
  const list = await operator.api.servers().catch(() => null);
  if (list === null) return;
  const same = list.you === operator.party && serversDigest(list.raw) === digest;
  if (!same) throw new WrongServers(operator.origin);
}

/**
 * What the servers say of a room, as its id proves it, and whether so many of them say that it
 * is closed that one of them is honest.
 */
async function roomOf(
  pin: Pin,
  operators: Operator[],
  kept: Documents | null,
  clock: Clock,
): Promise<{ descriptor: string; closed: boolean }> {
  const { found, failures } = await asked(operators, pin, clock);
  const [first] = found;
  if (first)
    return {
      descriptor: JSON.stringify(first.descriptor),
      closed:
        found.filter(({ state }) => state === 'closed').length >=
        borneBy(operators, first.descriptor).believed,
    };
  const missing = failures.filter(
    (failure) => failure instanceof Problem && failure.status === 404,
  );
  if (
    kept &&
    isOf(pin, kept.descriptor) &&
    missing.length < borneBy(operators, kept.descriptor).believed
  )
    return { descriptor: JSON.stringify(kept.descriptor), closed: false };
  // A server that shows another room than the link's is not one to go on with, and nobody shows the
  // link's.
  throw failures.find((failure) => failure instanceof WrongServers) ?? missing[0] ?? failures[0];
}

function isOf(pin: Pin, descriptor: unknown): boolean {
  try {
    return roomId(JSON.stringify(descriptor)) === pin.room;
  } catch {
    // What is no descriptor at all is that of no room.
    return false;
  }
}

/**
 * Asks all servers for a room: until all have answered or failed to, enough have shown it, or one
 * has and the others are late.
 */
async function asked(
  operators: Operator[],
  pin: Pin,
  clock: Clock,
): Promise<{ found: RoomInfo[]; failures: unknown[] }> {
  const [found, failures]: [RoomInfo[], unknown[]] = [[], []];
  let trust = NOBODY;
  const late = new AbortController();
  const enough = new Promise<void>((resolve) => {
    const look = () => {
      if (found.length >= trust.believed || found.length + failures.length === operators.length)
        resolve();
      else if (found.length === 1) void clock.sleep(SECOND, late.signal).then(resolve);
    };
    const ask = async ({ api, origin }: Operator) => {
      const info = await api.room(pin.room);
      if (!isOf(pin, info.descriptor)) throw new WrongServers(origin);
      trust = borneBy(operators, info.descriptor);
      found.push(info);
    };
    for (const operator of operators)
      void ask(operator)
        .catch((error: unknown) => failures.push(error))
        .then(look);
  });
  await enough;
  late.abort();
  return { found: [...found], failures: [...failures] };
}
