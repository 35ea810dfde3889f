// The page in real browsers, against three real servers.

import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';

import { start } from './deployment.mjs';
import { DESKTOP, PHONE, Visitor, launch } from './visitor.mjs';

/** @type {Awaited<ReturnType<typeof start>>} */
let deployment;
/** @type {import('playwright-core').Browser} */
let browser;

before(async () => {
  [deployment, browser] = await Promise.all([start(), launch()]);
});

after(async () => {
  await browser?.close();
  await deployment?.stop();
});

/** @param {number} index */
const link = (index) => /** @type {string} */ (deployment.links[index]);

test('two people speak, and both see both messages in one epoch', async () => {
  const [anna, ben] = [await Visitor.arrive(browser), await Visitor.arrive(browser)];
  await anna.open(link(0));
  await anna.takesPart();
  // Whose places two different servers gave: otherwise one server would know who the other one is.
  await ben.open(link(1));
  await ben.takesPart();
  const last = await anna.epoch();
  await anna.page.locator(`[data-epoch]:not([data-epoch="${last}"])`).waitFor({ timeout: 60_000 });
  await Promise.all([anna.say('The well is dry — Ἀθῆναι'), ben.say('Let the youngest speak first.')]);
  const seen = await Promise.all(
    [anna, ben].flatMap((visitor) => [visitor.reads('The well is dry — Ἀθῆναι'), visitor.reads('Let the youngest speak first.')]),
  );
  assert.equal(new Set(seen).size, 1, `the messages are in different epochs: ${seen.join(' | ')}`);
  assert.match(seen[0] ?? '', /shuffled among 2 · ✓ verified: signed by [23] of 3 servers/);
  await anna.page.getByText('Your message is on the wall.').waitFor();
  assert.equal(await anna.page.getByLabel('Your message').inputValue(), '');
  for (const visitor of [anna, ben]) {
    await visitor.fits();
    await visitor.isAccessible();
    assert.deepEqual(visitor.complaints, []);
    const asked = new Set(visitor.requests.map((request) => new URL(request.url()).origin));
    const known = new Set(deployment.links.map((text) => new URL(text).origin));
    assert.deepEqual([...asked].filter((origin) => !known.has(origin)), [], 'the page asks its servers only');
    await visitor.leave();
  }
});

test('a message waits for company, survives a reload, and is said once', async () => {
  const anna = await Visitor.arrive(browser);
  await anna.open(link(2));
  await anna.takesPart();
  await anna.say('Patience is a shard too.');
  await anna.page.locator('[data-own]').getByText('Patience is a shard too.').waitFor();
  await anna.page.getByText('Kept on this device.').waitFor();
  await anna.page.reload();
  await anna.page.locator('[data-own]').getByText('Patience is a shard too.').waitFor();
  await anna.page.getByText('Waiting until enough take part').waitFor({ timeout: 60_000 });
  const ben = await Visitor.arrive(browser);
  await ben.open(link(0));
  await Promise.all([anna.reads('Patience is a shard too.'), ben.reads('Patience is a shard too.')]);
  await anna.page.locator('[data-own]').waitFor({ state: 'detached' });
  assert.deepEqual(anna.complaints, []);
  await Promise.all([anna.leave(), ben.leave()]);
});

test('with one server out of reach, people still speak', async () => {
  const [anna, ben] = [await Visitor.arrive(browser), await Visitor.arrive(browser)];
  for (const visitor of [anna, ben]) await visitor.page.route(`${new URL(link(2)).origin}/**`, (route) => route.abort());
  await anna.open(link(0));
  await anna.takesPart();
  await ben.open(link(1));
  await anna.page.getByText('does not answer').waitFor();
  await anna.say('One of three is silent.');
  await Promise.all([anna.reads('One of three is silent.'), ben.reads('One of three is silent.')]);
  await Promise.all([anna.leave(), ben.leave()]);
});

test('a forged wall raises the alarm, and the true one is read elsewhere', async () => {
  const visitor = await Visitor.arrive(browser);
  await visitor.page.route(`${new URL(link(0)).origin}/api/v1/rooms/*/board*`, async (route) => {
    const response = await route.fetch();
    const page = await response.json();
    const first = page.entries.find((/** @type {any} */ signed) => signed.entry.messages.length > 0);
    if (first) first.entry.messages[0][0] ^= 1;
    await route.fulfill({ response, json: page });
  });
  await visitor.open(link(0));
  await visitor.page.getByRole('alert').getByText('A server showed something forged').waitFor();
  await visitor.page.getByText(/alpha: entry \d+ bears a signature that server \d did not make/).waitFor();
  await visitor.reads('Patience is a shard too.');
  await visitor.isAccessible();
  await visitor.picture('alarm');
  await visitor.leave();
});

test('one tab of a browser takes part, and another one takes over', async () => {
  const first = await Visitor.arrive(browser);
  await first.open(link(0));
  await first.takesPart();
  const second = await first.secondTab();
  await second.open(link(0));
  await second.page.getByText('open in another tab').waitFor();
  await second.page.locator('[data-entry]').first().waitFor();
  assert.equal(await second.page.getByLabel('Your message').count(), 0);
  await first.page.close();
  await second.takesPart();
  assert.deepEqual(second.complaints, []);
  await second.leave();
});

test('servers that the link does not name are refused, and told nothing', async () => {
  const visitor = await Visitor.arrive(browser);
  const text = link(0);
  await visitor.open(text.slice(0, -1) + (text.endsWith('0') ? '1' : '0'));
  await visitor.page.getByRole('alert').getByText('These are not the servers that your link names').waitFor();
  assert.deepEqual(visitor.requests.filter((request) => request.method() === 'POST'), []);
  await visitor.isAccessible();
  await visitor.picture('refusal');
  await visitor.leave();
});

test('a link is followed from the start page, and what is none is named so', async () => {
  const visitor = await Visitor.arrive(browser);
  await visitor.open(new URL(link(0)).origin);
  await visitor.page.getByLabel('Link to a room').fill('https://example.org/');
  await visitor.page.getByRole('button', { name: 'Open the room' }).click();
  await visitor.page.getByText('not a link to a room').waitFor();
  await visitor.page.getByLabel('Link to a room').fill(link(0));
  await visitor.page.keyboard.press('Enter');
  await visitor.page.getByRole('heading', { name: 'The wall' }).waitFor();
  await visitor.leave();
});

test('the counter counts bytes, and what is too long cannot be sent', async () => {
  const visitor = await Visitor.arrive(browser);
  await visitor.open(link(0));
  const field = visitor.page.getByLabel('Your message');
  await field.fill('ἀ');
  await visitor.page.getByText('251 bytes left').waitFor();
  await field.fill('ἀ'.repeat(100));
  await visitor.page.getByText('46 bytes too long').waitFor();
  assert.ok(await visitor.page.getByRole('button', { name: 'Send without a name' }).isDisabled());
  await visitor.leave();
});

for (const [device, options] of /** @type {const} */ ([['desktop', DESKTOP], ['phone', PHONE]])) {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    test(`${device}, ${colorScheme}: fits, is accessible, and can be looked at`, async () => {
      const visitor = await Visitor.arrive(browser, { ...options, colorScheme });
      await visitor.open(new URL(link(0)).origin);
      await visitor.page.getByRole('heading', { level: 1 }).waitFor();
      await visitor.fits();
      await visitor.isAccessible();
      await visitor.picture(`start-${device}-${colorScheme}`);
      await visitor.open(link(0));
      await visitor.page.locator('[data-entry]').first().waitFor();
      await visitor.page.getByText('What is protected').click();
      await visitor.page.getByText('Two of the three servers together').waitFor();
      // Shards are measured when they have come to rest.
      await visitor.page.waitForTimeout(600);
      await visitor.fits();
      await visitor.isAccessible();
      await visitor.picture(`room-${device}-${colorScheme}`);
      await visitor.leave();
    });
  }
}
