// Taking an invitation: the key in its link is good for entering a key of this device's own, once,
// and for nothing else.

import type { Failure } from '../../hosts/acting';
import type { LogView } from '../../hosts/hostlog';
import { ended, type Clock } from '../../page/clock';
import type { InvitationClaim } from '../../page/cryptography';
import type { Server } from '../../servers/api';
import { Driver } from '../driver';

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

type Action = { do: 'taken' } | { do: 'failed'; failure: Failure };

/**
 * Takes an invitation, as the machine of the WASM module does it, again and again until `signal`
 * aborts; `told` is why that did not succeed, or `null`. What counts is what the host log says.
 */
export function takeInvitation(
  machine: InvitationClaim,
  servers: Pick<Server, 'carry'>[],
  clock: Clock,
  signal: AbortSignal,
  told: (failure: Failure | null) => void,
): void {
  const actions = () => machine.actions();
  const driver = new Driver<Action>(machine, servers, clock, signal, actions, (action) => {
    if (action) told(action.do === 'failed' ? action.failure : null);
  });
  void ended(signal).then(() => machine.free());
  driver.happened((now) => machine.wake(now));
}
