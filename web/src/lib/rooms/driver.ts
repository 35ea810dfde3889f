// Sends what a state machine of the WASM module asks for, and wakes it. Which requests leave the
// device, and when, is decided there, as for the command line.

import type { Request, Server } from '../servers/api';
import type { Clock } from '../page/clock';

/** A request that a machine asks for. */
export type Ask = { do: 'ask'; id: number; party: number } & Request;

/** What all machines have. */
export interface Machine {
  wake(now: number): void;
  replied(now: number, id: number, status: number, body: string): void;
  wakeAt(): number;
}

/** Drives one machine until `signal` aborts. */
export class Driver<Other extends { do: string }> {
  private asleep = new AbortController();

  constructor(
    private readonly machine: Machine,
    private readonly servers: Pick<Server, 'carry'>[],
    private readonly clock: Clock,
    private readonly signal: AbortSignal,
    /** What is to be done since it was asked last: JSON. */
    private readonly actions: () => string,
    /** Does something else; `null` once everything is done. */
    private readonly act: (action: Other | null) => void,
  ) {
    signal.addEventListener('abort', () => this.asleep.abort(), { once: true });
  }

  /** Lets something happen to the machine, and does what follows from it. */
  happened(what: (now: number) => void): void {
    if (this.signal.aborted) return;
    what(this.clock.now());
    for (const action of JSON.parse(this.actions()) as (Ask | Other)[]) {
      if (action.do === 'ask') void this.ask(action as Ask);
      else this.act(action as Other);
      // What was told may have ended it.
      if (this.signal.aborted) return;
    }
    this.act(null);
    void this.sleep();
  }

  private async sleep(): Promise<void> {
    this.asleep.abort();
    const asleep = new AbortController();
    this.asleep = asleep;
    const left = this.machine.wakeAt() - this.clock.now();
    await this.clock.sleep(Math.max(0, left), asleep.signal);
    if (!asleep.signal.aborted) this.happened((now) => this.machine.wake(now));
  }

  private async ask(request: Ask): Promise<void> {
    const answer = await this.servers[request.party]?.carry(request, this.signal);
    const { status, body } = answer ?? { status: 0, body: '' };
    this.happened((now) => this.machine.replied(now, request.id, status, body));
  }
}
