// The WASM module, loaded once.

import { t } from '../../i18n/common';
import init, {
  Arriving,
  DecisionBeginning,
  DecisionVisitor,
  Follower,
  InvitationClaim,
  JoinCanvass,
  KeyStock,
  Participant,
  RoomHost,
  RoomOpening,
  type Deployment as Servers,
  type DeviceKey as Key,
  type HostLog as Log,
} from '../../wasm/ostrakon_wasm';
import module from '../../wasm/ostrakon_wasm_bg.wasm?url';
import { LocalizedError } from '../servers/localized';

let loading: Promise<unknown> | undefined;

/**
 * Loads the module; its functions may be called when this has resolved. What failed is tried anew
 * at the next call.
 */
export async function loadCryptography(): Promise<void> {
  loading ??= init({ module_or_path: module });
  try {
    await loading;
  } catch {
    loading = undefined;
    throw new LocalizedError(t.refusal.away);
  }
}

/** A room's documents, as its servers gave them. */
interface Documents {
  servers: string;
  descriptor: string;
}

/**
 * The way to the servers with the digest `servers`, or those that the one at `origin` names, and to
 * a room; `kept` is what was kept of it. What is drawn must not be guessable.
 */
export function beginArriving(
  origin: string,
  servers: string | undefined,
  room?: string,
  kept?: object | null,
): Arriving {
  const seed = crypto.getRandomValues(new Uint8Array(32));
  return new Arriving(origin, servers, room, kept ? JSON.stringify(kept) : undefined, seed);
}

/** A machine that follows a room. What it draws must not be guessable. */
export function beginFollowing({ servers, descriptor }: Documents): Follower {
  return new Follower(servers, descriptor, crypto.getRandomValues(new Uint8Array(32)));
}

/**
 * A machine that takes part in a room under a key, present at first `before` if that server
 * answers. What it draws must not be guessable.
 */
export function beginTakingPart(
  { servers, descriptor }: Documents,
  key: Key,
  before?: number,
): Participant {
  const seed = crypto.getRandomValues(new Uint8Array(32));
  return new Participant(servers, descriptor, key, seed, before);
}

/**
 * A host who acts in a room whose log this is, `followed` by others or not. What it draws must not
 * be guessable.
 */
export function beginHosting(log: Log, key: Key, followed: boolean): RoomHost {
  return new RoomHost(log, key, followed, crypto.getRandomValues(new Uint8Array(32)));
}

/** Takes an invitation for a key of the device's own. What it draws must not be guessable. */
export function beginClaiming(
  { servers, descriptor }: Documents,
  invitation: Key,
  key: Key,
): InvitationClaim {
  const seed = crypto.getRandomValues(new Uint8Array(32));
  return new InvitationClaim(servers, descriptor, invitation, key, seed);
}

/**
 * The opening of a room (JSON, as it is posted) at servers (JSON, as one of them lists them), of
 * whom those of `order` are asked. What it draws must not be guessable.
 */
export function beginOpening(servers: string, order: number[], room: string): RoomOpening {
  const seed = crypto.getRandomValues(new Uint8Array(32));
  return new RoomOpening(servers, Uint8Array.from(order), room, seed);
}

/** The beginning of a decision, of a draft (JSON). What it draws must not be guessable. */
export function beginDeciding(deployment: Servers, creator: Key, draft: string): DecisionBeginning {
  const seed = crypto.getRandomValues(new Uint8Array(32));
  return new DecisionBeginning(deployment, creator, draft, seed);
}

/** What servers are asked about a join link (JSON). What it draws must not be guessable. */
export function beginCanvass(call: string): JoinCanvass {
  return new JoinCanvass(call, crypto.getRandomValues(new Uint8Array(32)));
}

/** A visitor of a decision under an account. What it draws must not be guessable. */
export function beginVisiting(
  deployment: Servers,
  decision: string,
  invitation: string | undefined,
  account: Key,
): DecisionVisitor {
  const seed = crypto.getRandomValues(new Uint8Array(32));
  return new DecisionVisitor(deployment, decision, invitation, account, seed);
}

/**
 * What fills an account's stock of keys, up to `most` if that is given. What it draws must not be
 * guessable.
 */
export function beginFilling(deployment: Servers, account: Key, most?: number): KeyStock {
  return new KeyStock(deployment, account, most, crypto.getRandomValues(new Uint8Array(32)));
}

export {
  Arriving,
  AskedCommittee,
  AskedGraph,
  DecisionBeginning,
  DecisionMemory,
  DecisionVisitor,
  Deployment,
  DeviceKey,
  Follower,
  HostLog,
  InvitationClaim,
  JoinCanvass,
  JoinLink,
  KeyStock,
  Messenger,
  MixRoom,
  MixVisitor,
  Outbox,
  Participant,
  RoomHost,
  RoomOpening,
  announcementsOf,
  askGraph,
  believed,
  draftFlaw,
  draftLimits,
  jobOf,
  lookAgain,
  makeDraft,
  messageLimit,
  minimumFor,
  moreNeeded,
  mostMinimum,
  nameLook,
  parseLink,
  peopleFor,
  placesFor,
  quorums,
  refusalPasses,
  roomCode,
  roomId,
  serversDigest,
  signMail,
  tableRows,
  tidyCode,
  toldApart,
  verifyDecisionArchive,
} from '../../wasm/ostrakon_wasm';
