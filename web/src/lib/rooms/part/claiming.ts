// Taking an invitation: the key in its link is good for entering a key of this device's own, once,
// and for nothing else.

import { Problem, type Server } from '../../servers/api';
import type { LogView } from '../../hosts/hostlog';

/**
 * How an invitation stands towards a device's key, by what hosts and devices have signed. `open`:
 * nobody has taken it. `ours`: this device has. `used`: another device has. `withdrawn`: a host has
 * taken it back. `unknown`: no host made it.
 */
export type Claimed = 'open' | 'ours' | 'used' | 'withdrawn' | 'unknown';

export function claimedBy(log: LogView, invitation: string, key: string): Claimed {
  const found = log.invitations.find((other) => other.key === invitation);
  if (!found) return log.former.has(invitation) ? 'withdrawn' : 'unknown';
  if (found.claimed === null) return 'open';
  return found.claimed === key ? 'ours' : 'used';
}

/**
 * Gives a claim to the server that puts all of them in order; the others only name it. Throws why
 * it was not taken.
 */
export async function handIn(servers: Server[], room: string, claim: string): Promise<void> {
  let failure: unknown;
  for (const server of servers) {
    try {
      return await server.claim(room, claim);
    } catch (error) {
      const misdirected = error instanceof Problem && error.status === 421;
      if (error instanceof Problem && !misdirected) throw error;
      // That another server is not the right one says less than that the right one is silent.
      if (failure === undefined || !misdirected) failure = error;
    }
  }
  throw failure;
}
