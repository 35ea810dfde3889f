// The page without a network or without anybody at it, and as it is kept on the device.

import { strict as assert } from 'node:assert';
import { appendFile, rm } from 'node:fs/promises';
import path from 'node:path';

import { test } from './support/test.mjs';
import { DESKTOP, Visitor } from './support/visitor.mjs';

/** The page is kept on the device, as it is for everybody. */
const KEPT = /** @type {const} */ ({ ...DESKTOP, serviceWorkers: 'allow' });

/** @param {Visitor} visitor */
async function keepsThePage(visitor) {
  await visitor.page.evaluate(async () => void (await navigator.serviceWorker.ready));
}

test('without a network the wall can be read, and what is written then is said later', async ({
  browser,
  deployment,
}) => {
  const links = await deployment.room('Stoa');
  const [anna, ben] = [await Visitor.arrive(browser, KEPT), await Visitor.arrive(browser)];
  await Promise.all([anna.join(links[0]), ben.join(links[1])]);
  await anna.takesPart();
  await anna.say('While the sea is calm.');
  await anna.reads('While the sea is calm.');
  await keepsThePage(anna);

  await anna.page.context().setOffline(true);
  await anna.page.reload();
  await anna.page.locator('[data-kept]').getByText('the one that this device has kept').waitFor();
  await anna.page.getByText('No server answers. You see what this device has kept').waitFor();
  await anna.reads('While the sea is calm.');
  await anna.say('Written at sea.');
  await anna.page.locator('[data-own]').getByText('Written at sea.').waitFor();
  await anna.isAccessible();
  await anna.picture('offline');
  await anna.page.reload();
  await anna.page.locator('[data-own]').getByText('Written at sea.').waitFor();

  await anna.page.context().setOffline(false);
  await Promise.all([anna.reads('Written at sea.'), ben.reads('Written at sea.')]);
});

test('a page that nobody looks at stops taking part, whatever it has to say, and goes on when somebody is back', async ({
  browser,
  deployment,
}) => {
  const [link] = await deployment.room('Lethe');
  const anna = (await Visitor.arrive(browser)).notesRequests();
  await anna.page.clock.install();
  await anna.join(link);
  await anna.takesPart();
  await anna.say('Said by nobody who is here.');
  await anna.page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await anna.page.clock.fastForward('04:30');
  assert.notEqual(await anna.page.locator('[data-part]').getAttribute('data-part'), 'resting');
  await anna.page.clock.fastForward('02:00');
  await anna.page.locator('[data-part="resting"]').waitFor();
  await anna.page.getByText('It waits until this page takes part again').waitFor();
  const asked = anna.requests.length;
  await anna.page.clock.fastForward('00:30');
  assert.deepEqual(
    anna.requests.slice(asked).filter((request) => request.method() === 'POST'),
    [],
    'a page that rests sends nothing',
  );
  await anna.page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', {
      configurable: true,
      get: () => 'visible',
    });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await anna.page.locator('[data-part]:not([data-part="resting"])').waitFor();
});

test('a page that the system has halted goes on where it was', async ({ browser, deployment }) => {
  const links = await deployment.room('Hypnos');
  const [anna, ben] = [await Visitor.arrive(browser), await Visitor.arrive(browser)];
  await anna.join(links[0]);
  await ben.join(links[1]);
  await anna.takesPart();
  const session = await anna.page.context().newCDPSession(anna.page);
  await session.send('Debugger.enable');
  await anna.say('Before I fell asleep.');
  // Nothing of the page runs any more: neither what it has begun nor what its clock would begin.
  const halted = new Promise((resolve) => session.once('Debugger.paused', resolve));
  await session.send('Debugger.pause');
  await halted;
  try {
    await ben.page.getByText('Enough are here: waiting for what they hand in').waitFor();
  } finally {
    await session.send('Debugger.resume');
    await session.detach();
  }
  await Promise.all([anna.reads('Before I fell asleep.'), ben.reads('Before I fell asleep.')]);
  await anna.page.locator('[data-own]').waitFor({ state: 'detached' });
});

test('the page can be installed, and a newer one waits until the reader asks for it', async ({
  browser,
  starts,
}) => {
  const deployment = await starts();
  const visitor = await Visitor.arrive(browser, KEPT);
  await visitor.open(deployment.origin());
  await keepsThePage(visitor);
  const session = await visitor.page.context().newCDPSession(visitor.page);
  const { errors } = await session.send('Page.getAppManifest');
  assert.deepEqual(errors, []);
  const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
  // A browser without a window keeps a private profile, where nothing is installed.
  assert.deepEqual(
    installabilityErrors.filter(({ errorId }) => errorId !== 'in-incognito'),
    [],
  );
  await visitor.page.reload();
  assert.equal(await visitor.page.locator('[data-newer]').count(), 0);
  const worker = path.join(deployment.files, 'service-worker.js');
  await appendFile(worker, '\n// newer\n');
  // What lies compressed beside it is the former one.
  await Promise.all(['br', 'gz'].map((ending) => rm(`${worker}.${ending}`)));
  await visitor.page.evaluate(async () =>
    (await navigator.serviceWorker.getRegistration())?.update(),
  );
  await visitor.page.locator('[data-newer]').waitFor();
  await visitor.isAccessible();
  await Promise.all([
    visitor.page.waitForEvent('load'),
    visitor.page.getByRole('button', { name: 'Load it' }).click(),
  ]);
  await visitor.page.getByRole('heading', { level: 1 }).waitFor();
  assert.equal(await visitor.page.locator('[data-newer]').count(), 0);
  assert.deepEqual(visitor.complaints, []);
});
