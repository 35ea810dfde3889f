// People in a room, in real browsers, against three real servers.

import { strict as assert } from 'node:assert';

import { test } from './support/test.mjs';
import { PHONE, Visitor } from './support/visitor.mjs';

test('two people speak, and both see both messages in one epoch', async ({
  browser,
  deployment,
}) => {
  const links = await deployment.room('Pnyx', { seconds: 3 });
  const [anna, ben] = [await Visitor.arrive(browser), await Visitor.arrive(browser)];
  for (const visitor of [anna, ben]) visitor.notesRequests();
  // The first epoch waits until both have something to say.
  const starts = [await anna.staysOut(), await ben.staysOut()];
  await anna.join(links[0]);
  await anna.page.locator('[data-part="waiting"]').waitFor();
  // Whose places two different servers gave: otherwise one server would know who the other one is.
  await ben.join(links[1]);
  await anna.say('The well is dry — Ἀθῆναι');
  await ben.say('Let the youngest speak first.');
  for (const visitor of [anna, ben]) await visitor.page.locator('[data-own]').waitFor();
  for (const start of starts) await start();
  const seen = await Promise.all(
    [anna, ben].flatMap((visitor) => [
      visitor.reads('The well is dry — Ἀθῆναι'),
      visitor.reads('Let the youngest speak first.'),
    ]),
  );
  assert.equal(new Set(seen.map(({ epoch }) => epoch)).size, 1, 'the messages are in one epoch');
  for (const { header } of seen)
    assert.match(header, /shuffled among 2 · ✓ verified: signed by [23] of 3 servers/);
  await anna.page.getByText('Your message is on the wall, unaltered').waitFor();
  await anna.page
    .locator('[data-signed]')
    .getByText(/signed by (alpha|beta)/)
    .waitFor();
  assert.equal(await anna.page.getByLabel('Your message').inputValue(), '');
  for (const visitor of [anna, ben]) {
    await visitor.fits();
    await visitor.isAccessible();
    assert.deepEqual(visitor.complaints, []);
    const asked = new Set(visitor.requests.map((request) => new URL(request.url()).origin));
    assert.deepEqual(
      [...asked].filter((origin) => !deployment.origins.includes(origin)),
      [],
      'the page asks its servers only',
    );
  }
});

test('a message waits for company, survives a reload, and is said once', async ({
  browser,
  deployment,
}) => {
  const links = await deployment.room('Stoa');
  const anna = await Visitor.arrive(browser);
  await anna.join(links[2]);
  await anna.takesPart();
  await anna.say('Patience is a shard too.');
  await anna.page.locator('[data-own]').getByText('Patience is a shard too.').waitFor();
  await anna.page.getByText('Kept on this device.').waitFor();
  await anna.page.reload();
  await anna.page.locator('[data-own]').getByText('Patience is a shard too.').waitFor();
  await anna.page.getByText('1 is here; 1 more, then messages appear').waitFor();
  const ben = await Visitor.arrive(browser);
  await ben.join(links[0]);
  await Promise.all([
    anna.reads('Patience is a shard too.'),
    ben.reads('Patience is a shard too.'),
  ]);
  await anna.page.locator('[data-own]').waitFor({ state: 'detached' });
  assert.deepEqual(anna.complaints, []);
});

/**
 * From now on this browser writes nothing down, as if its storage were full, or does so again.
 * @param {Visitor} visitor
 * @param {boolean} full
 */
async function storage({ page }, full) {
  await page.evaluate((full) => {
    const scope = /** @type {any} */ (globalThis);
    const prototype = Object.getPrototypeOf(scope.localStorage);
    scope.written ??= prototype.setItem;
    prototype.setItem = full
      ? () => {
          throw new DOMException('full', 'QuotaExceededError');
        }
      : scope.written;
  }, full);
}

test('a full storage holds a message back, says so, and lets it go on by itself', async ({
  browser,
  deployment,
}) => {
  const links = await deployment.room('Kerameikos');
  const [anna, ben] = [await Visitor.arrive(browser, PHONE), await Visitor.arrive(browser)];
  await anna.open(links[0]);
  await anna.page.getByRole('button', { name: 'Take part', exact: true }).waitFor();
  await storage(anna, true);
  await anna.page.getByRole('button', { name: 'Take part', exact: true }).click();
  await anna.page
    .getByRole('alert')
    .getByText('storage is full, so this device can keep nothing')
    .waitFor();
  await storage(anna, false);
  await anna.page.getByRole('button', { name: 'Try again' }).click();
  await anna.join(links[0]);
  await ben.join(links[1]);
  await anna.takesPart();
  await storage(anna, true);
  await anna.say('Clay is patient.');
  await anna.page.locator('[data-full]').getByText('Your message is on this page only').waitFor();
  await anna.fits();
  await anna.isAccessible();
  await anna.picture('storage-full-phone');
  // The epoch waits for it in vain.
  await ben.page.getByText('Enough are here: waiting for what they hand in').waitFor();
  assert.equal(await ben.page.getByText('Clay is patient.').count(), 0);
  await storage(anna, false);
  await Promise.all([anna.reads('Clay is patient.'), ben.reads('Clay is patient.')]);
  await anna.page.locator('[data-full]').waitFor({ state: 'detached' });
});

test('this device lists the rooms in which it takes part, and forgets them', async ({
  browser,
  deployment,
  agora,
}) => {
  const [link] = agora.links;
  const anna = await Visitor.arrive(browser);
  await anna.open(link);
  await anna.page.getByRole('button', { name: 'Only read along' }).click();
  await anna.page.getByText('You read along. The servers see').waitFor();
  await anna.open(`${deployment.origin()}/#/`);
  await anna.page.getByRole('heading', { level: 1 }).waitFor();
  assert.equal(
    await anna.page.locator('[data-rooms]').count(),
    0,
    'who only reads leaves no trace',
  );
  await anna.join(link);
  await anna.takesPart();
  await anna.open(`${deployment.origin()}/#/`);
  const list = anna.page.locator('[data-rooms]');
  await list.getByRole('link', { name: 'Agora' }).waitFor();
  await anna.isAccessible();
  await anna.picture('rooms-desktop-light');
  await list.getByRole('link', { name: 'Agora' }).click();
  await anna.takesPart();
  await anna.open(`${deployment.origin()}/#/`);
  await list.getByRole('button', { name: 'Forget “Agora” on this device' }).click();
  await anna.page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click();
  await anna.page.getByText('“Agora” is forgotten on this device.').waitFor();
  assert.equal(
    await anna.page.evaluate(
      () => Object.keys(localStorage).filter((name) => name.startsWith('ostrakon/room/')).length,
    ),
    0,
  );
  // The focus is not lost with the button.
  await anna.focuses(anna.page.getByText('“Agora” is forgotten on this device.'));
  await anna.open(link);
  await anna.page.getByRole('button', { name: 'Take part', exact: true }).waitFor();
});

test('with one server out of reach, people still speak', async ({ browser, deployment }) => {
  const links = await deployment.room('Pnyx');
  const [anna, ben] = [await Visitor.arrive(browser), await Visitor.arrive(browser)];
  for (const visitor of [anna, ben])
    await visitor.page.route(`${deployment.origins[2]}/**`, (route) => route.abort());
  await anna.join(links[0]);
  await anna.takesPart();
  await ben.join(links[1]);
  await anna.page.getByText('does not answer').waitFor();
  await anna.say('One of three is silent.');
  await Promise.all([anna.reads('One of three is silent.'), ben.reads('One of three is silent.')]);
});

test('one tab of a browser takes part, and another one takes over', async ({ browser, agora }) => {
  const [link] = agora.links;
  const first = await Visitor.arrive(browser);
  await first.join(link);
  await first.takesPart();
  const second = await first.secondTab();
  await second.open(link);
  await second.page.getByText('open in another tab').waitFor();
  await second.page.locator('[data-entry]').first().waitFor();
  assert.equal(await second.page.getByLabel('Your message').count(), 0);
  await first.page.close();
  await second.takesPart();
  assert.deepEqual(second.complaints, []);
});

test('the counter counts bytes, and what is too long cannot be sent', async ({
  browser,
  agora,
}) => {
  const [link] = agora.links;
  const visitor = await Visitor.arrive(browser);
  await visitor.join(link);
  const field = visitor.page.getByLabel('Your message');
  await field.fill('ἀ'.repeat(80));
  await visitor.page.getByText('14 bytes left').waitFor();
  await field.fill('ἀ'.repeat(100));
  await visitor.page.getByText('46 bytes too long').waitFor();
  assert.ok(await visitor.page.getByRole('button', { name: 'Send without a name' }).isDisabled());
});

test('everything can be done with the keyboard, in the language that is chosen', async ({
  browser,
  agora,
}) => {
  const [link] = agora.links;
  const visitor = await Visitor.arrive(browser);
  const { page } = visitor;
  await visitor.open(link);
  await page.locator('[data-join]').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await visitor.focuses(page.locator('#content'));
  await page.getByLabel('Language').selectOption('de');
  await page.getByRole('heading', { name: 'Bevor du teilnimmst' }).waitFor();
  // As long as no server gives what is needed for that, the message enters no epoch and can be
  // taken back.
  await page.route('**/issue?*', (route) => route.fulfill({ status: 404, json: {} }));
  const take = page.getByRole('button', { name: 'Teilnehmen', exact: true });
  for (
    let tabs = 0;
    tabs < 12 && !(await take.evaluate((button) => button === document.activeElement));
    tabs++
  )
    await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByLabel('Deine Nachricht').focus();
  await page.keyboard.type('Nur mit Tasten.');
  await page.keyboard.press('Control+Enter');
  await page.locator('[data-own]').getByText('Nur mit Tasten.').waitFor();
  await visitor.focuses(page.locator('#own'));
  await page.getByRole('button', { name: 'Zurücknehmen und ändern' }).press('Enter');
  assert.equal(await page.getByLabel('Deine Nachricht').inputValue(), 'Nur mit Tasten.');
  await page.reload();
  await page.getByRole('heading', { name: 'Die Wand' }).waitFor();
});
