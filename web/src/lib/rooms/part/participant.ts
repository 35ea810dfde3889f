// Takes part in every epoch of a room: sends what the participant of the WASM module asks for, and
// wakes it. Which requests leave the device, and when, is decided there, as for the command line.

import type { Server } from '../../servers/api';
import type { Clock } from '../../page/clock';
import type { Participant as Machine } from '../../page/cryptography';
import type { Statuses } from '../seen/statuses';

/** Where the participant stands. */
export type Part =
  | { at: 'looking' }
  | { at: 'waiting'; home: number }
  | { at: 'placed'; home: number; epoch: number }
  | { at: 'handed-in'; home: number; epoch: number };

/** What the machine asks for. */
type Action =
  | { do: 'ask'; id: number; party: number; path: string; body: string | null; patience: number }
  | { do: 'fill'; epoch: number; minimum: number }
  | ({ do: 'tell' } & Part);

export interface Surroundings {
  servers: Server[];
  statuses: Statuses;
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

export class Participant {
  constructor(private readonly world: Surroundings) {}

  /** Takes part until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const run = new Run(this.world, this.world.begin());
    await new Promise<void>((resolve) =>
      signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    run.end();
  }
}

/** One machine, from its beginning to its end. */
class Run {
  private readonly ended = new AbortController();
  private asleep = new AbortController();

  constructor(
    private readonly world: Surroundings,
    private readonly machine: Machine,
  ) {
    const { clock, statuses } = world;
    const { signal } = this.ended;
    for (const party of world.servers.keys()) this.hear(party);
    statuses.listen((party) => this.happened(() => this.hear(party)), signal);
    this.happened(() => machine.wake(clock.now()));
  }

  end(): void {
    this.ended.abort();
    this.asleep.abort();
    this.machine.free();
  }

  private hear(party: number): void {
    const report = this.world.statuses.reports[party];
    if (!report || report.reachable === null) return;
    const status = report.reachable ? report.status?.raw : undefined;
    this.machine.heard(this.world.clock.now(), party, status, report.came);
  }

  /** Lets something happen to the machine, and does what follows from it. */
  private happened(what: () => void): void {
    if (this.ended.signal.aborted) return;
    what();
    for (const action of JSON.parse(this.machine.actions()) as Action[]) {
      if (action.do === 'ask') void this.ask(action);
      else if (action.do === 'fill') void this.fill(action.epoch, action.minimum);
      else this.world.moved(action);
    }
    // What was told may have ended it.
    if (!this.ended.signal.aborted) void this.sleep();
  }

  private async sleep(): Promise<void> {
    const { clock } = this.world;
    this.asleep.abort();
    const asleep = new AbortController();
    this.asleep = asleep;
    await clock.sleep(Math.max(0, this.machine.wakeAt() - clock.now()), asleep.signal);
    if (!asleep.signal.aborted) this.happened(() => this.machine.wake(clock.now()));
  }

  private async ask(request: Action & { do: 'ask' }): Promise<void> {
    const { servers, clock } = this.world;
    const answer = await servers[request.party]?.carry(request);
    const { status, body } = answer ?? { status: 0, body: '' };
    this.happened(() => this.machine.replied(clock.now(), request.id, status, body));
  }

  private async fill(epoch: number, minimum: number): Promise<void> {
    const kept = await this.world.fill(this.machine, epoch, minimum);
    this.happened(() => this.machine.filled(this.world.clock.now(), kept));
  }
}
