// The browser tests: `npm run e2e`.

import { availableParallelism } from 'node:os';

import { defineConfig } from '@playwright/test';

import { LEFT_OUT } from './e2e/support/night.mjs';
import { CHROMIUM } from './e2e/support/visitor.mjs';

/** Tests mostly wait: for epochs, for deadlines, for servers. */
const WORKERS_PER_PROCESSOR = 2;

export default defineConfig({
  testDir: 'e2e',
  testMatch: '*.test.mjs',
  grepInvert: LEFT_OUT,
  globalSetup: './e2e/support/setup.mjs',
  outputDir: '../target/e2e',
  fullyParallel: true,
  workers: Number(
    process.env.OSTRAKON_E2E_WORKERS ?? WORKERS_PER_PROCESSOR * availableParallelism(),
  ),
  // A test that passes at the second attempt has found something.
  retries: 0,
  forbidOnly: true,
  reporter: [['list'], ['./e2e/support/times.mjs']],
  // Only what hangs ends by these: a slow machine fails no test.
  timeout: 900_000,
  use: { browserName: 'chromium', launchOptions: CHROMIUM, actionTimeout: 180_000 },
});
