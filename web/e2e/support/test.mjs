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
 * @property {void} leaves nobody stays in the browser after a test; if it failed, what everybody
 * saw is said
 *
 * @typedef {object} Lasting
 * @property {Shared} shared
 * @property {Deployment} deployment three servers that all tests share
 * @property {import('./deployment.mjs').Agora} agora a room there in which something was said, for
 * those who only look
 * @property {string} committee where a committee of three can be asked
 *
 * @typedef {import('@playwright/test').PlaywrightTestArgs} Args
 * @typedef {import('@playwright/test').PlaywrightWorkerArgs} WorkerArgs
 * @typedef {import('@playwright/test').TestType<Given & Args, Lasting & WorkerArgs>} Typed
 */

/**
 * Says what every page showed when a test failed: mostly it says there why.
 * @param {import('@playwright/test').Browser} browser
 */
async function tell(browser) {
  for (const page of browser.contexts().flatMap((context) => context.pages())) {
    const seen = await page
      .locator('body')
      .innerText({ timeout: 5_000 })
      .catch((error) => `nothing: ${error}`);
    // A browser does not send a form with these, and says so beside the page only.
    const invalid = await page
      .locator('input:invalid, textarea:invalid, select:invalid')
      .evaluateAll((all) => all.map((one) => one.outerHTML + /** @type {any} */ (one).value))
      .catch(() => []);
    console.log([`\n${page.url()} showed:`, ...seen.split(/\s*\n\s*/), ...invalid].join('\n  '));
  }
}

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
      committee: [
        async (/** @type {Lasting} */ { shared }, /** @type {Use<string>} */ use) =>
          use(shared.committee),
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
          /** @type {import('@playwright/test').TestInfo} */ info,
        ) => {
          await use();
          if (info.status !== info.expectedStatus) await tell(browser);
          await Promise.all(browser.contexts().map((context) => context.close()));
        },
        { auto: true },
      ],
    }),
  )
);
