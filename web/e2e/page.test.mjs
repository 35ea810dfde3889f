// The page in real browsers, against three real servers.

import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
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

/**
 * A room of its own for a test: who leaves a room is counted there for half a minute longer.
 *
 * @param {string} name
 * @returns {Promise<[string, string, string]>} its link at every server
 */
async function room(name) {
  return /** @type {[string, string, string]} */ (await deployment.room(name));
}

/** Where something has been said, for those who only look. @type {string} */
let spoken;

test('two people speak, and both see both messages in one epoch', async () => {
  const links = await room('Agora');
  spoken = links[0];
  const [anna, ben] = [await Visitor.arrive(browser), await Visitor.arrive(browser)];
  await anna.join(links[0]);
  await anna.takesPart();
  // Whose places two different servers gave: otherwise one server would know who the other one is.
  await ben.join(links[1]);
  await ben.takesPart();
  const last = await anna.epoch();
  await anna.page.locator(`[data-epoch]:not([data-epoch="${last}"])`).waitFor({ timeout: 60_000 });
  await Promise.all([
    anna.say('The well is dry — Ἀθῆναι'),
    ben.say('Let the youngest speak first.'),
  ]);
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
    await visitor.leave();
  }
});

test('a message waits for company, survives a reload, and is said once', async () => {
  const links = await room('Stoa');
  const anna = await Visitor.arrive(browser);
  await anna.join(links[2]);
  await anna.takesPart();
  await anna.say('Patience is a shard too.');
  await anna.page.locator('[data-own]').getByText('Patience is a shard too.').waitFor();
  await anna.page.getByText('Kept on this device.').waitFor();
  await anna.page.reload();
  await anna.page.locator('[data-own]').getByText('Patience is a shard too.').waitFor();
  await anna.page.getByText('Waiting until enough take part').waitFor({ timeout: 60_000 });
  const ben = await Visitor.arrive(browser);
  await ben.join(links[0]);
  await Promise.all([
    anna.reads('Patience is a shard too.'),
    ben.reads('Patience is a shard too.'),
  ]);
  await anna.page.locator('[data-own]').waitFor({ state: 'detached' });
  assert.deepEqual(anna.complaints, []);
  await Promise.all([anna.leave(), ben.leave()]);
});

/** From now on this browser writes nothing down, as if its storage were full, or does so again. @param {Visitor} visitor @param {boolean} full */
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

test('a full storage holds a message back, says so, and lets it go on by itself', async () => {
  const links = await room('Kerameikos');
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
  await ben.page.getByText('Waiting until enough take part').waitFor({ timeout: 60_000 });
  assert.equal(await ben.page.getByText('Clay is patient.').count(), 0);
  await storage(anna, false);
  await Promise.all([anna.reads('Clay is patient.'), ben.reads('Clay is patient.')]);
  await anna.page.locator('[data-full]').waitFor({ state: 'detached' });
  await Promise.all([anna.leave(), ben.leave()]);
});

test('this device lists the rooms in which it takes part, and forgets them', async () => {
  const anna = await Visitor.arrive(browser);
  await anna.open(spoken);
  await anna.page.getByRole('button', { name: 'Only read along' }).click();
  await anna.page.getByText('You read along. The servers see').waitFor();
  const start = deployment.origins[0] ?? '';
  await anna.open(`${start}/#/`);
  await anna.page.getByRole('heading', { level: 1 }).waitFor();
  assert.equal(
    await anna.page.locator('[data-rooms]').count(),
    0,
    'who only reads leaves no trace',
  );
  await anna.join(spoken);
  await anna.takesPart();
  await anna.open(`${start}/#/`);
  const list = anna.page.locator('[data-rooms]');
  await list.getByRole('link', { name: 'Agora' }).waitFor();
  await anna.isAccessible();
  await anna.picture('rooms-desktop-light');
  await list.getByRole('link', { name: 'Agora' }).click();
  await anna.takesPart();
  await anna.open(`${start}/#/`);
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
  await anna.open(spoken);
  await anna.page.getByRole('button', { name: 'Take part', exact: true }).waitFor();
  await anna.leave();
});

test('with one server out of reach, people still speak', async () => {
  const links = await room('Pnyx');
  const [anna, ben] = [await Visitor.arrive(browser), await Visitor.arrive(browser)];
  for (const visitor of [anna, ben])
    await visitor.page.route(`${deployment.origins[2]}/**`, (route) => route.abort());
  await anna.join(links[0]);
  await anna.takesPart();
  await ben.join(links[1]);
  await anna.page.getByText('does not answer').waitFor();
  await anna.say('One of three is silent.');
  await Promise.all([anna.reads('One of three is silent.'), ben.reads('One of three is silent.')]);
  await Promise.all([anna.leave(), ben.leave()]);
});

test('a forged wall raises the alarm and is not shown', async () => {
  const visitor = await Visitor.arrive(browser);
  await visitor.page.route('**/api/v1/rooms/*/board*', async (route) => {
    const response = await route.fetch();
    const page = await response.json();
    for (const { entry } of page.entries)
      for (const message of entry.messages) message.kept.body[0] ^= 1;
    await route.fulfill({ response, json: page });
  });
  await visitor.open(spoken);
  await visitor.page
    .getByRole('alert')
    .getByText('A server showed something forged')
    .first()
    .waitFor();
  await visitor.page.getByText('What was said exactly').first().click();
  await visitor.page
    .getByText(/entry \d+ bears a signature that server \d did not make/)
    .first()
    .waitFor();
  assert.equal(await visitor.page.locator('[data-entry]').count(), 0);
  await visitor.isAccessible();
  await visitor.picture('alarm');
  await visitor.leave();
});

test('one tab of a browser takes part, and another one takes over', async () => {
  const first = await Visitor.arrive(browser);
  await first.join(spoken);
  await first.takesPart();
  const second = await first.secondTab();
  await second.open(spoken);
  await second.page.getByText('open in another tab').waitFor();
  await second.page.locator('[data-entry]').first().waitFor();
  assert.equal(await second.page.getByLabel('Your message').count(), 0);
  await first.page.close();
  await second.takesPart();
  assert.deepEqual(second.complaints, []);
  await second.leave();
});

test('where a browser forbids the page to keep anything, the page says so', async () => {
  const visitor = await Visitor.arrive(browser);
  await visitor.page.addInitScript(() => {
    const get = () => {
      throw new DOMException('The operation is insecure.', 'SecurityError');
    };
    Object.defineProperty(globalThis, 'localStorage', { get });
  });
  await visitor.open(spoken);
  await visitor.page
    .getByRole('alert')
    .getByText('This browser forbids this site to keep anything')
    .waitFor();
  await visitor.isAccessible();
  await visitor.leave();
});

test('what a visit loads is on the list of the build, with its digest', async () => {
  const { origin } = new URL(spoken);
  const { files } = await (await fetch(`${origin}/hashes.json`)).json();
  const visitor = await Visitor.arrive(browser);
  await visitor.open(origin);
  await visitor.page.getByRole('heading', { level: 1 }).waitFor();
  const loaded = visitor.requests.map(
    (request) => new URL(request.url()).pathname.slice(1) || 'index.html',
  );
  assert.deepEqual(
    loaded.filter((path) => !path.startsWith('api/') && !(path in files)),
    [],
  );
  for (const [path, digest] of Object.entries(files)) {
    const contents = new Uint8Array(await (await fetch(`${origin}/${path}`)).arrayBuffer());
    assert.equal(createHash('sha256').update(contents).digest('hex'), digest, path);
  }
  await visitor.leave();
});

test('servers that the link does not name are refused, and told nothing', async () => {
  const visitor = await Visitor.arrive(browser);
  const text = spoken;
  await visitor.open(text.slice(0, -1) + (text.endsWith('0') ? '1' : '0'));
  await visitor.page
    .getByRole('alert')
    .getByText('These are not the servers that your link names')
    .waitFor();
  assert.deepEqual(
    visitor.requests.filter((request) => request.method() === 'POST'),
    [],
  );
  await visitor.isAccessible();
  await visitor.picture('refusal');
  await visitor.leave();
});

test('a link is followed from the start page, and what is none is named so', async () => {
  const visitor = await Visitor.arrive(browser);
  await visitor.open(new URL(spoken).origin);
  await visitor.page.getByLabel('Link or code of a room').fill('https://example.org/');
  await visitor.page.getByRole('button', { name: 'Go to the room' }).click();
  await visitor.page.getByText('neither a link to a room').waitFor();
  await visitor.page.getByLabel('Link or code of a room').fill(spoken);
  await visitor.page.keyboard.press('Enter');
  await visitor.page.getByRole('heading', { name: 'The wall' }).waitFor();
  await visitor.leave();
});

test('without its cryptography the page says so, and goes on when it can be had', async () => {
  const visitor = await Visitor.arrive(browser);
  const { page } = visitor;
  await page.route('**/*.wasm', (route) => route.abort());
  await visitor.open(new URL(spoken).origin);
  await page.getByLabel('Link or code of a room').fill(spoken);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('could not be loaded').waitFor();
  await visitor.open(spoken);
  await page
    .getByRole('alert')
    .getByText('the server did not answer, or this device has no network')
    .waitFor();
  await page.unroute('**/*.wasm');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'The wall' }).waitFor();
  await visitor.leave();
});

test('the counter counts bytes, and what is too long cannot be sent', async () => {
  const visitor = await Visitor.arrive(browser);
  await visitor.join(spoken);
  const field = visitor.page.getByLabel('Your message');
  await field.fill('ἀ'.repeat(80));
  await visitor.page.getByText('14 bytes left').waitFor();
  await field.fill('ἀ'.repeat(100));
  await visitor.page.getByText('46 bytes too long').waitFor();
  assert.ok(await visitor.page.getByRole('button', { name: 'Send without a name' }).isDisabled());
  await visitor.leave();
});

/**
 * Every way of looking at the page that is checked: the devices by day and by night, and once each what differs for some.
 *
 * @type {[string, import('playwright-core').BrowserContextOptions, string][]}
 */
const LOOKS = [
  ['desktop-light', { ...DESKTOP, colorScheme: 'light' }, 'en'],
  ['desktop-dark', { ...DESKTOP, colorScheme: 'dark' }, 'de'],
  ['phone-light', { ...PHONE, colorScheme: 'light' }, 'de'],
  ['phone-dark', { ...PHONE, colorScheme: 'dark' }, 'en'],
  ['phone-right-to-left', { ...PHONE, colorScheme: 'light' }, 'rtl'],
  ['desktop-forced-colours', { ...DESKTOP, forcedColors: 'active', reducedMotion: 'reduce' }, 'en'],
];

for (const [look, options, reading] of LOOKS) {
  test(`${look}: fits, is accessible, and can be looked at`, async () => {
    const visitor = await Visitor.arrive(browser, {
      ...options,
      locale: reading === 'de' ? 'de-DE' : 'en-GB',
    });
    const { page } = visitor;
    const seen = async (/** @type {string} */ what) => {
      if (reading === 'rtl') await page.evaluate(() => void (document.documentElement.dir = 'rtl'));
      await visitor.fits();
      await visitor.isAccessible({ contrast: options.forcedColors !== 'active' });
      await visitor.picture(`${what}-${look}`);
    };
    await visitor.open(new URL(spoken).origin);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await seen('start');
    await visitor.open(spoken);
    await page.locator('[data-join]').waitFor();
    await page.locator('[data-entry]').first().waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), reading === 'de' ? 'de' : 'en');
    const take = page.getByRole('button', {
      name: reading === 'de' ? 'Teilnehmen' : 'Take part',
      exact: true,
    });
    if (options.isMobile)
      assert.ok(await visitor.sees(take), 'the choice lies below what a phone shows');
    await seen('join');
    await take.click();
    await page.locator('#message').waitFor();
    await page
      .locator('details')
      .evaluateAll((all) => all.forEach((one) => one.setAttribute('open', '')));
    await seen('room');
    await visitor.leave();
  });
}

test('everything can be done with the keyboard, in the language that is chosen', async () => {
  const visitor = await Visitor.arrive(browser);
  const { page } = visitor;
  await visitor.open(spoken);
  await page.locator('[data-join]').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await visitor.focuses(page.locator('#content'));
  await page.getByLabel('Language').selectOption('de');
  await page.getByRole('heading', { name: 'Bevor du teilnimmst' }).waitFor();
  // As long as no server gives what is needed for that, the message enters no epoch and can be taken back.
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
  await visitor.leave();
});
