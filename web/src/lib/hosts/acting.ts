// A host's own actions: signed on this device, put at the end of the log, and put there again when
// somebody was first.

import { Problem } from '../servers/api';
import type { Clock } from '../page/clock';
import type { DeviceKey, HostLog } from '../page/cryptography';
import type { PollForm, Target } from './hostlog';
import type { ActionServer } from './hosting';
import { Declined } from '../servers/reason';

/** What a host does, as it is signed. */
export type Deed =
  | { hide: { target: Target; hidden: boolean } }
  | { approve: { target: Target; approved: boolean } }
  | { pin: { target: Target; pinned: boolean } }
  | { answer: { target: Target; answered: boolean } }
  | { group: { target: Target; group: string | null } }
  | { erase: { target: Target } }
  | { poll: { poll: { question: string; form: PollForm; epoch: number } } }
  | { withdraw: { poll: number } }
  | { reveal: { poll: number; right: number[] } }
  | { spotlight: { target: Target | null } }
  | { host: { key: string; name: string; active: boolean } }
  | { admit: { keys: string[] } }
  | { invite: { keys: string[] } }
  | { dismiss: { keys: string[] } }
  | { moderate: { on: boolean } }
  | { minimum: { minimum: number } }
  | 'close'
  | 'erase-all';

/** The part of the host log that is used. */
export type Log = Pick<HostLog, 'length' | 'read' | 'act' | 'refusal'>;

/** Attempts to find the end of the log before giving up. */
const ATTEMPTS = 6;
/** Milliseconds before another attempt when no server could be reached. */
const PAUSE = 700;

/** Signs in the name of one host and hands in, one action after the other. */
export class Actor {
  private queue: Promise<unknown> = Promise.resolve();
  /** The server that took the last action: the one that puts all of them in order. */
  private scheduler = 0;

  constructor(
    private readonly room: string,
    private readonly servers: ActionServer[],
    private readonly log: Log,
    private readonly key: DeviceKey,
    private readonly clock: Clock,
    /** Called when the log has grown. */
    private readonly grown: () => void,
  ) {}

  /**
   * Does something, once; resolves when it is in the log. `deed` is asked anew whenever another
   * action had its place. Throws what the servers or the rules of the log have against it.
   */
  act(deed: () => Deed): Promise<void> {
    const done = this.queue.then(() => this.attempt(deed));
    this.queue = done.catch(() => undefined);
    return done;
  }

  private async attempt(deed: () => Deed): Promise<void> {
    let failure: unknown;
    let signed: string | undefined;
    let number = 0;
    for (let tries = 0; tries < ATTEMPTS; tries++) {
      if (signed === undefined) {
        number = Number(this.log.length());
        signed = this.sign(JSON.stringify(deed()));
      }
      try {
        await this.handIn(signed);
        this.take([JSON.parse(signed)], number);
        return;
      } catch (error) {
        failure = error;
        const status = error instanceof Problem ? error.status : 503;
        // What a server refuses for another reason it refuses again.
        if (status !== 409 && status < 429) throw error;
        const found = await this.foundAt(number);
        if (found === signatureOf(JSON.parse(signed))) return;
        // Signed at another time it would be another action. As long as nothing has its place it
        // may have been taken, though nothing said so: the same again is taken once.
        if (found === undefined) await this.clock.sleep(PAUSE, new AbortController().signal);
        else signed = undefined;
      }
    }
    throw failure;
  }

  /** The next action, signed, as JSON; throws {@link Declined} if the log would not take it. */
  private sign(deed: string): string {
    try {
      return this.log.act(this.key, BigInt(Math.floor(this.clock.now() / 1000)), deed);
    } catch (error) {
      throw new Declined(
        this.log.refusal(this.key, deed) ?? '',
        error instanceof Error ? error.message : String(error),
      );
    }
  }

  /** Gives the action to the server that puts all in order; the others only name it. */
  private async handIn(signed: string): Promise<void> {
    let failure: unknown;
    for (let step = 0; step < this.servers.length; step++) {
      const party = (this.scheduler + step) % this.servers.length;
      try {
        await this.servers[party]?.act(this.room, signed);
        this.scheduler = party;
        return;
      } catch (error) {
        const misdirected = error instanceof Problem && error.status === 421;
        if (error instanceof Problem && !misdirected) {
          this.scheduler = party;
          throw error;
        }
        // That another server is not the right one says less than that the right one is silent.
        if (failure === undefined || !misdirected) failure = error;
      }
    }
    throw failure;
  }

  /**
   * Reads on from action `number`; the signature of the action that has this place, if one is seen
   * to have it.
   */
  private async foundAt(number: number): Promise<string | undefined> {
    const actions = await this.servers[this.scheduler]?.actions(this.room, number).catch(() => []);
    if (!actions?.length) return undefined;
    this.take(actions, number);
    return signatureOf(actions[0]);
  }

  /** Takes actions of which the first has this number, as far as they are new. */
  private take(actions: unknown[], number: number): void {
    const fresh = actions.slice(Number(this.log.length()) - number);
    if (fresh.length === 0) return;
    try {
      this.log.read(JSON.stringify(fresh));
    } finally {
      this.grown();
    }
  }
}

/** A signed action's signature as JSON; nothing if it has none. */
function signatureOf(action: unknown): string | undefined {
  return typeof action === 'object' && action !== null && 'signature' in action
    ? JSON.stringify(action.signature)
    : undefined;
}
