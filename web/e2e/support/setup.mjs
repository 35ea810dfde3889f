// Before all browser tests: what they share.

import { NOISE, QUESTION, SHARED, start } from './deployment.mjs';

/** Starts the servers, and opens a room in which something is said; what is returned stops them. */
export default async function setup() {
  const deployment = await start();
  try {
    const { links, hostLink } = await deployment.spokenIn('Agora', [QUESTION, NOISE]);
    const { description } = deployment;
    process.env[SHARED] = JSON.stringify({ description, agora: { links, hostLink } });
  } catch (error) {
    await deployment.stop();
    throw error;
  }
  return () => deployment.stop();
}
