// A room whose servers may fail: a message is said and read while one of them is killed.

import { strict as assert } from 'node:assert';

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
