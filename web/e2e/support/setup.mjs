// Before all browser tests: what they share.

import { startCommittee } from './committee.mjs';
import { NOISE, QUESTION, SHARED, start } from './deployment.mjs';

/** Starts the servers, and opens a room in which something is said; what is returned stops them. */
export default async function setup() {
  const committee = startCommittee();
  const deployment = await start();
  const stop = async () => {
    const started = await committee.catch(() => null);
    await Promise.all([deployment.stop(), started?.stop()]);
  };
  try {
    const { links, hostLink } = await deployment.spokenIn('Agora', [QUESTION, NOISE]);
    process.env[SHARED] = JSON.stringify({
      description: deployment.description,
      agora: { links, hostLink },
      committee: (await committee).origin,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}
