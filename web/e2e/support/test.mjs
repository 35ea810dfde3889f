// What every browser test is given.

import { test as base } from '@playwright/test';

import { Deployment, start } from './deployment.mjs';

/** @typedef {import('./deployment.mjs').Shared} Shared */
/**
 * @template T
 * @typedef {(given: T) => Promise<void>} Use
 */

/**
 * @typedef {object} Given
 * @property {typeof start} starts servers of the test's own, for what would disturb others; they
 * are stopped after it
 * @property {void} leaves nobody stays in the browser after a test
 *
 * @typedef {object} Lasting
 * @property {Shared} shared
 * @property {Deployment} deployment three servers that all tests share
 * @property {import('./deployment.mjs').Agora} agora a room there in which something was said, for
 * those who only look
 *
 * @typedef {import('@playwright/test').PlaywrightTestArgs} Args
 * @typedef {import('@playwright/test').PlaywrightWorkerArgs} WorkerArgs
 * @typedef {import('@playwright/test').TestType<Given & Args, Lasting & WorkerArgs>} Typed
 */

export const test = /** @type {Typed} */ (
  base.extend(
    /** @type {any} */ ({
      shared: [
        async ({}, /** @type {Use<Shared>} */ use) => use(Deployment.shared()),
        { scope: 'worker' },
      ],
      deployment: [
        async (/** @type {Lasting} */ { shared }, /** @type {Use<Deployment>} */ use) =>
          use(shared.deployment),
        { scope: 'worker' },
      ],
      agora: [
        async (/** @type {Lasting} */ { shared }, /** @type {Use<Shared['agora']>} */ use) =>
          use(shared.agora),
        { scope: 'worker' },
      ],
      starts: async ({}, /** @type {Use<typeof start>} */ use) => {
        /** @type {Awaited<ReturnType<typeof start>>[]} */
        const started = [];
        try {
          await use(async (wishes) => {
            const deployment = await start(wishes);
            started.push(deployment);
            return deployment;
          });
        } finally {
          await Promise.all(started.map((one) => one.stop()));
        }
      },
      leaves: [
        async (
          /** @type {{ browser: import('@playwright/test').Browser }} */ { browser },
          /** @type {() => Promise<void>} */ use,
        ) => {
          await use();
          await Promise.all(browser.contexts().map((context) => context.close()));
        },
        { auto: true },
      ],
    }),
  )
);
