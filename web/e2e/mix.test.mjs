// A room whose servers may fail: a message is said and read while one of them is killed.

import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { startMix } from './support/mix.mjs';
import { test } from './support/test.mjs';
import { DESKTOP, PHONE, Visitor } from './support/visitor.mjs';

test('messages come out although a server is killed in the middle', async ({ browser }) => {
  const mix = await startMix();
  try {
    const [first = ''] = mix.links;
    const reader = await Visitor.arrive(browser, DESKTOP);
    await reader.open(first);
    await reader.page.getByText('Nothing has been said yet.').waitFor();
    await reader.page.getByText('This room is a trial.').waitFor();
    await reader.page.getByText('All 4 servers answer.').waitFor();

    const writer = await Visitor.arrive(browser, PHONE);
    await writer.open(first);
    await writer.page.getByRole('button', { name: 'Take part' }).click();
    await writer.page.getByLabel('Your message').fill('It is not yet light.');
    await writer.isAccessible();
    await writer.page.getByRole('button', { name: 'Say it' }).click();
    await writer.page.locator('[data-own=in]').waitFor();
    await writer.picture('mix-in');

    // The last server: the page is served by the first.
    mix.kill(3);
    await writer.page.getByText('Your message is on the board').waitFor();
    await reader.page.locator('.message', { hasText: 'It is not yet light.' }).waitFor();
    await reader.page.locator('[data-silent="1"]').waitFor();
    await reader.page.getByText('What is under way comes out all the same').waitFor();
    await reader.page
      .getByText('No more can be prepared')
      .or(reader.page.getByText('No further round'))
      .waitFor();
    await reader.isAccessible();
    await reader.picture('mix-board');

    // What was said is said once, also after a reload.
    await writer.page.reload();
    await writer.page.getByLabel('Your message').waitFor();
    await writer.page.locator('.message', { hasText: 'It is not yet light.' }).waitFor();
    const said = await writer.page.locator('.message', { hasText: 'It is not yet light.' }).count();
    assert.equal(said, 1);
    // The key is in the browser, the message is not any more.
    const kept = await writer.page.evaluate(() => JSON.stringify({ ...localStorage }));
    assert(!kept.includes('yet light'), kept);
    // A second tab does not take part as the same device.
    const second = await writer.page.context().newPage();
    await second.goto(first);
    await second.getByRole('alert').getByText('another tab').waitFor();
  } finally {
    await mix.stop();
  }
});

test('a mixing server offers what it has, and its operator sees how it stands', async ({
  browser,
}) => {
  const mix = await startMix();
  try {
    const [first = ''] = mix.links;
    const { origin } = new URL(first);
    for (const [look, options] of /** @type {const} */ ([
      ['phone', PHONE],
      ['desktop', DESKTOP],
    ])) {
      const guest = await Visitor.arrive(browser, options);
      const { page } = guest;
      await guest.open(origin);
      await page.getByRole('link', { name: 'Go to the room' }).waitFor();
      const leads = await page
        .getByRole('link')
        .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
      const room = new URL(first).hash;
      assert.ok(
        leads.every((to) => ['#/', room, '#content'].includes(to ?? '')),
        `${leads}`,
      );
      await guest.fits();
      await guest.isAccessible();
      await guest.picture(`mix-start-${look}`);
      // What other servers have is not here, and that is said.
      await page.evaluate(() => void (location.hash = '#/decide'));
      await page.getByRole('alert').getByText('has nothing at the address').waitFor();
      await page.getByRole('link', { name: 'Go to the room' }).click();
      await page.getByRole('button', { name: 'Take part' }).waitFor();
      assert.deepEqual(guest.complaints, []);
      await guest.leave();
    }

    const operator = await Visitor.arrive(browser, DESKTOP);
    const { page } = operator;
    await operator.open(`${origin}/#/operator`);
    await page.getByText('in the file operator.token in the directory of the server').waitFor();
    const enter = async (/** @type {string} */ token) => {
      await page.getByLabel('Administrator token').fill(token);
      await page.getByRole('button', { name: 'Show my server' }).click();
    };
    await enter('not the token of anybody');
    await page.getByText('This is not the token of this server.').waitFor();
    operator.complaints.length = 0;
    await enter(await readFile(path.join(mix.homes[0] ?? '', 'operator.token'), 'utf8'));
    await page.locator('[data-state=fine]').nth(3).waitFor();
    await page.locator('[data-ready]:not([data-ready="0"])').waitFor();
    await page.getByText('More are being prepared, as long as all servers are there').waitFor();
    await operator.isAccessible();
    await operator.picture('mix-operator-desktop');

    mix.kill(3);
    await page.locator('[data-state=away]').waitFor();
    const ended = await page.locator('[data-ended=away]').textContent();
    assert.match(ended ?? '', /prepared\. No more can be prepared while servers are away/);
    const remedy = await page.locator('[data-remedy]').textContent();
    assert.match(remedy ?? '', /starts it with its data.*--restored.*with 5 servers/);
    await page.setViewportSize(PHONE.viewport);
    await operator.fits();
    await operator.isAccessible();
    await operator.picture('mix-operator-phone');
    mix.revive();
    await page.locator('[data-state=fine]').nth(3).waitFor();
    assert.deepEqual(operator.complaints, []);
  } finally {
    await mix.stop();
  }
});
