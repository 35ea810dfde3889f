// The cryptography of this device in one room, as the participant uses it.

import { Issues, submit } from '../../page/cryptography';
import type { Deployment } from '../../servers/deployment';
import type { Keepsake } from './outbox';
import type { Device } from './participant';

export function device(deployment: Deployment, keepsake: Keepsake): Device {
  const { key, outbox } = keepsake;
  const { room } = deployment.pin;
  const takeIfGenuine = (issues: Issues, party: number, bytes: Uint8Array) => {
    try {
      issues.take(key, party, bytes);
    } catch {
      // Whoever answers in a server's name has given nothing; the others decide whether they
      // suffice.
    }
  };
  return {
    publicKey: key.publicKey(),
    signPresence: (time, party) => key.signPresence(room, BigInt(time), party),
    signIssueRequest: (epoch, party) => key.signIssueRequest(room, BigInt(epoch), party),
    submission: (epoch, given) => {
      const issues = new Issues(deployment.servers, deployment.descriptor, BigInt(epoch));
      given.forEach((bytes, party) => bytes && takeIfGenuine(issues, party, bytes));
      // What is in the epoch is decided and written down before a byte of it exists outside this
      // device.
      const submission = submit(issues, outbox, key);
      keepsake.save();
      return submission ? { slot: submission.slot, body: submission.body } : null;
    },
  };
}
