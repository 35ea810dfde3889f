// Opens a room, as the machine of the WASM module does it: which server is asked for it, whether it
// opened what was asked for, and when the room counts as shown is decided there, as for the command
// line.

import { t as common } from '../../i18n/common';
import { t } from '../../i18n/create';
import { ended, type Clock } from '../page/clock';
import type { RoomOpening } from '../page/cryptography';
import { Driver } from '../rooms/driver';
import { Problem, type Server } from '../servers/api';
import { WrongServers } from '../servers/deployment';
import { LocalizedError } from '../servers/localized';

/** The room is not the one that was asked for. */
export class Altered extends LocalizedError {}

/** A room that a server has opened as it was asked for. */
export interface Room {
  room: string;
  /** Its descriptor as JSON. */
  descriptor: string;
}

type Failure =
  | { kind: 'server'; status: number; detail: string }
  | { kind: 'away' | 'altered' }
  | { kind: 'other-servers'; party: number };

type Action =
  | { do: 'opened'; room: string; descriptor: unknown }
  | { do: 'shown' | 'over' }
  | { do: 'failed'; failure: Failure };

/** Opens one room. */
export class Opening {
  private readonly driver: Driver<Action>;
  private readonly leaving = new AbortController();
  private readonly said: Action[] = [];
  private heard: () => void = () => undefined;
  private keep: (room: Room) => void = () => undefined;
  /** It is not looked for any more, since it was not shown in time. */
  private isOver = false;

  constructor(
    private readonly machine: RoomOpening,
    servers: Pick<Server, 'carry'>[],
    clock: Clock,
  ) {
    const { signal } = this.leaving;
    this.driver = new Driver<Action>(
      machine,
      servers,
      clock,
      signal,
      () => machine.actions(),
      (action) => {
        if (!action) return;
        if (action.do === 'opened') this.keep(roomOf(action));
        this.said.push(action);
        this.heard();
      },
    );
    void ended(signal).then(() => machine.free());
  }

  /**
   * Asks the servers for the room. Throws what they have against it, or {@link Altered} if one
   * opens another room. `keep` is told the room before anything else is asked of a server.
   */
  async open(keep: (room: Room) => void = () => undefined): Promise<Room> {
    this.keep = keep;
    this.driver.happened((now) => this.machine.wake(now));
    const action = await this.next();
    if (action.do !== 'opened') return this.fail(action);
    return roomOf(action);
  }

  /**
   * Resolves when so many servers show the room that one of them is honest. Throws
   * {@link WrongServers} if one has contradicted them by then, and something else if they do not
   * show it in time; then it may be called again.
   */
  async shown(): Promise<void> {
    if (this.isOver) {
      this.isOver = false;
      this.driver.happened((now) => this.machine.lookAgain(now));
    }
    const next = await this.next();
    const action = this.said.find((one) => one.do === 'failed') ?? next;
    this.isOver = action.do === 'over';
    if (this.isOver) throw new LocalizedError(t.unreachable);
    if (action.do !== 'shown') this.fail(action);
    this.leaving.abort();
  }

  private async next(): Promise<Action> {
    for (;;) {
      const action = this.said.shift();
      if (action) return action;
      await new Promise<void>((resolve) => (this.heard = resolve));
    }
  }

  private fail(action: Action): never {
    this.leaving.abort();
    throw errorOf(action);
  }
}

function roomOf({ room, descriptor }: Action & { do: 'opened' }): Room {
  return { room, descriptor: JSON.stringify(descriptor) };
}

function errorOf(action: Action): Error {
  if (action.do !== 'failed') return new Error(action.do);
  const { failure } = action;
  switch (failure.kind) {
    case 'server':
      return new Problem(failure.status, failure.detail);
    case 'away':
      return new LocalizedError(common.refusal.away);
    case 'altered':
      return new Altered(t.altered);
    case 'other-servers':
      return new WrongServers(`P${failure.party}`);
  }
}
