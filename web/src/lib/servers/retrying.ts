// What passes by itself is tried again, each time after a longer pause.

import { Problem } from './api';
import { secureRandom, type Clock } from '../page/clock';
import { refusalPasses } from '../page/cryptography';

/** How often something is tried. */
const ATTEMPTS = 6;
/** Milliseconds before the second attempt; twice as long before each further one. */
const PAUSE = 400;

/** Whether it passes by itself: too much at once, a server that is away or restarts. */
export function isTransient(error: unknown): boolean {
  return !(error instanceof Problem) || refusalPasses(error.status);
}

/**
 * Does something at a server, again while what hinders it passes by itself; then throws what
 * hindered it last.
 */
export async function retrying<T>(
  act: () => Promise<T>,
  clock: Clock,
  signal: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act();
    } catch (error) {
      if (attempt === ATTEMPTS || signal.aborted || !isTransient(error)) throw error;
      // Devices that were turned away together do not come back together.
      await clock.sleep(PAUSE * 2 ** (attempt - 1) * (0.5 + secureRandom()), signal);
    }
  }
}
