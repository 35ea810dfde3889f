// The cryptography of this device in one room, as the participant uses it.

import { Issues, submit } from './cryptography';
import type { Deployment } from './deployment';
import type { Keepsake } from './outbox';
import type { Device } from './participant';

export function device(deployment: Deployment, keepsake: Keepsake): Device {
  const { key, outbox } = keepsake;
  const { room } = deployment.pin;
  return {
    publicKey: key.publicKey(),
    signPresence: (time, party) => key.signPresence(room, BigInt(time), party),
    signIssueRequest: (epoch, party) => key.signIssueRequest(room, BigInt(epoch), party),
    submission: (context, slot, issues) => {
      const { servers, descriptor, operators } = deployment;
      const given = new Issues(operators.length);
      issues.forEach((bytes, party) => bytes && given.take(party, bytes));
      // What is in the epoch is decided and written down before a byte of it exists outside this device.
      const body = submit(servers, descriptor, JSON.stringify(context), slot, given, outbox, key);
      keepsake.save();
      return body ?? null;
    },
  };
}
