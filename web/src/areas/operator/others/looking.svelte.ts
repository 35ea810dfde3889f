// How an operator's page of one overview keeps it fresh.

import { Problem } from '../../../lib/servers/api';
import { reasonOf } from '../../../lib/servers/reason';

/** What a server says of itself, as it was read last. */
export class Looking<T> {
  /** `null` until it is read for the first time. */
  found = $state.raw<T | null>(null);
  /** When it was read, in milliseconds since 1970. */
  seen = $state(0);
  /** Why it is as it was before; empty if it is not. */
  stale = $state('');

  constructor(
    private readonly read: () => Promise<T>,
    /** The token is not good any more. */
    private readonly refused: (error: unknown) => void,
  ) {}

  /** Looks at once and then every `often` milliseconds, until what it returns is called. */
  begin(often: number): () => void {
    void this.look();
    const timer = setInterval(() => {
      // A page that nobody looks at asks for nothing.
      if (document.visibilityState === 'visible') void this.look();
    }, often);
    return () => clearInterval(timer);
  }

  private async look(): Promise<void> {
    try {
      this.found = await this.read();
      [this.seen, this.stale] = [Date.now(), ''];
    } catch (error) {
      if (error instanceof Problem && error.status === 401) this.refused(error);
      else this.stale = reasonOf(error, 'operate').text;
    }
  }
}
