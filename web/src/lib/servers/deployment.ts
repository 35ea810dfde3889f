// From a link to the servers and the room that it pins, as the machine of the WASM module leads
// there: who is asked, what of the answers is gone on with, and when that is enough is decided by
// it, as for the command line.

import { t } from '../../i18n/common';
import { HttpServer, Problem, type Server } from './api';
import { LocalizedError } from './localized';
import { ended, systemClock, type Clock } from '../page/clock';
import { beginArriving, messageLimit, type Arriving } from '../page/cryptography';
import { Driver } from '../rooms/driver';
import type { Params } from '../page/routes';
import { Malformed, count, oneOf, opaque, optional, record, text } from './shape';
import { trustOf, type Trust } from './trust';

/** What a link says, apart from where it was opened. */
export interface Pin {
  room: string;
  servers: string;
}

/** One server of a deployment. */
export interface Operator<S = Server> {
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
  /** See {@link Arrived.contradicting}. */
  contradicting: string[];
}

/** The servers are not the ones that the link names: nothing must be sent. */
export class WrongServers extends Error {
  /** `server`: who contradicts the link, by its address. */
  constructor(readonly server: string) {
    super(`${server} shows other servers, or another room, than the link names`);
  }
}

/** The link's room is none that servers can keep. */
export class Unusable extends LocalizedError {
  constructor(why: string) {
    super(t.refusal.unusable, why);
  }
}

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
 * Follows a link from the page of one of its servers. Where none answers, what was `kept` stands
 * in, which must be what the link names as well; not if enough servers say that the room is no
 * more.
 *
 * Throws {@link WrongServers} if the first server is not one of the link's, or if none shows the
 * link's room and one another.
 */
export async function connectAny(
  pin: Pin,
  origin: string,
  kept: Documents | null = null,
  at = (url: string): Server => new HttpServer(url),
  clock = systemClock,
): Promise<Deployment> {
  const machine = beginArriving(origin, pin.servers, pin.room, kept);
  const { raw, operators, room, contradicting } = await arrive(machine, origin, at, clock);
  const descriptor = JSON.stringify(room?.descriptor);
  const { host, admission, retention_days, mode, ...settings } = settingsShape(room?.descriptor);
  return {
    pin,
    operators,
    servers: raw,
    descriptor,
    trust: trustOf(engineShape(room?.descriptor).engine, operators.length),
    ...settings,
    hosted: host !== null && host !== undefined,
    members: admission === 'members',
    messages: admission === 'messages',
    retention: retention_days,
    limit: messageLimit(descriptor),
    robust: mode === 'robust',
    closed: room?.closed ?? false,
    contradicting,
  };
}

/** Servers, and the room if one was looked for. */
export interface Arrived<S> {
  /** The servers' list as JSON, for the cryptography. */
  raw: string;
  operators: Operator<S>[];
  /** Where links lead to: this page's origin, if it is one by which the servers know themselves. */
  entrance: string;
  room: { descriptor: unknown; closed: boolean } | null;
  /** The names of those who say that they belong to other servers than the link names. */
  contradicting: string[];
}

/**
 * The servers with the given digest; those that the one at `origin` names, if there is none.
 *
 * Throws {@link WrongServers} if the first one is not one of them, or, if there is no digest,
 * another one is not.
 */
export function operatorsOf<S extends Pick<Server, 'carry'>>(
  digest: string | undefined,
  origin: string,
  at: (url: string) => S,
  clock = systemClock,
): Promise<Arrived<S>> {
  return arrive(beginArriving(origin, digest), origin, at, clock);
}

type Failure =
  | { kind: 'server'; at: string; status: number; detail: string }
  | { kind: 'malformed'; at: string; why: string }
  | { kind: 'unusable'; why: string }
  | { kind: 'other-servers' | 'other-room' | 'away'; at: string };

type Action =
  | { do: 'found'; addresses: string[] }
  | {
      do: 'arrived';
      servers: { servers: { party: number; name: string }[] };
      addresses: string[];
      entrance: string;
      room: { descriptor: unknown; closed: boolean } | null;
      contradicting: number[];
    }
  | { do: 'failed'; failure: Failure };

/** Has a machine lead from the server at `origin` to all of them. */
export async function arrive<S extends Pick<Server, 'carry'>>(
  machine: Arriving,
  origin: string,
  at: (url: string) => S,
  clock: Clock,
): Promise<Arrived<S>> {
  // Before it is known who the servers are, there is one.
  const servers = [at(origin)];
  const over = new AbortController();
  const ends: Action[] = [];
  const act = (action: Action | null) => {
    if (action?.do === 'found') servers.splice(0, servers.length, ...action.addresses.map(at));
    else if (action) {
      ends.push(action);
      over.abort();
    }
  };
  const actions = () => machine.actions();
  const driver = new Driver<Action>(machine, servers, clock, over.signal, actions, act);
  driver.happened((now) => machine.wake(now));
  await ended(over.signal);
  machine.free();
  const [end] = ends;
  if (end?.do !== 'arrived') throw errorOf(end);
  const { entrance, room } = end;
  const operators = end.servers.servers.flatMap(({ party, name }): Operator<S>[] => {
    const [origin, api] = [end.addresses[party], servers[party]];
    return origin === undefined || api === undefined ? [] : [{ party, name, origin, api }];
  });
  const contradicts = ({ party }: Operator<S>) => end.contradicting.includes(party);
  const contradicting = operators.filter(contradicts).map(({ name }) => name);
  return { raw: JSON.stringify(end.servers), operators, entrance, room, contradicting };
}

function errorOf(end: Action | undefined): Error {
  if (end?.do !== 'failed') return new Error(end?.do);
  const { failure } = end;
  switch (failure.kind) {
    case 'server':
      return new Problem(failure.status, failure.detail);
    case 'malformed':
      return new Malformed(`${failure.at}: ${failure.why}`);
    case 'away':
      return new LocalizedError(t.refusal.awayFrom(failure.at));
    case 'unusable':
      return new Unusable(failure.why);
    case 'other-servers':
    case 'other-room':
      return new WrongServers(failure.at);
  }
}
