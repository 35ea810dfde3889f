// Takes part in every epoch of a room, as the participant of the WASM module says.

import type { Server } from '../../servers/api';
import { ended, type Clock } from '../../page/clock';
import type { Participant as Machine } from '../../page/cryptography';
import { Driver } from '../driver';
import type { Words } from '../seen/following';

/** Where the participant stands. */
export type Part =
  | { at: 'looking' }
  | { at: 'waiting'; home: number }
  | { at: 'placed'; home: number; epoch: number }
  | { at: 'handed-in'; home: number; epoch: number };

/** What the machine asks for, besides requests. */
type Action = { do: 'fill'; epoch: number; minimum: number } | ({ do: 'tell' } & Part);

export interface Surroundings {
  servers: Pick<Server, 'carry'>[];
  words: Words;
  clock: Clock;
  /** A machine that has not begun. */
  begin(): Machine;
  /**
   * Decides what goes into an epoch, and writes it down, so that it is never decided otherwise.
   * Whether it is written down.
   */
  fill(machine: Machine, epoch: number, minimum: number): boolean | Promise<boolean>;
  /** Called whenever the participant moves on. */
  moved(part: Part): void;
}

/** Takes part until `signal` aborts. */
export async function takePart(world: Surroundings, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { clock, servers, words } = world;
  const machine = world.begin();
  const driver = new Driver<Action>(
    machine,
    servers,
    clock,
    signal,
    () => machine.actions(),
    (action) => {
      if (action?.do === 'fill') void fill(action.epoch, action.minimum);
      else if (action) world.moved(action);
    },
  );
  const fill = async (epoch: number, minimum: number) => {
    const kept = await world.fill(machine, epoch, minimum);
    driver.happened((now) => machine.filled(now, kept));
  };
  const hear = (now: number, party: number) => {
    const report = words.reports[party];
    if (!report || report.reachable === null) return;
    const status = report.reachable ? JSON.stringify(report.status) : undefined;
    machine.heard(now, party, status, report.came);
  };
  for (const party of servers.keys()) hear(clock.now(), party);
  words.listen((party) => driver.happened((now) => hear(now, party)), signal);
  driver.happened((now) => machine.wake(now));
  await ended(signal);
  machine.free();
}
