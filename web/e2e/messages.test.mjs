// Two people exchange messages in a room for them.

import { strict as assert } from 'node:assert';

import { AT_NIGHT } from './support/night.mjs';
import { test } from './support/test.mjs';
import { DESKTOP, LIGHT, PHONE, Visitor } from './support/visitor.mjs';

/** Rounds of one second; everybody alone may take part, so that nobody waits for company. */
const LETTERS = {
  admission: 'messages',
  seconds: 1,
  minimum: 0,
  payload: 256,
  retention_days: 1,
  host: null,
};

/** The engine of the room of a link. @param {string} link */
async function engineOf(link) {
  const { origin, hash } = new URL(link);
  const answer = await fetch(`${origin}/api/v1/rooms/${hash.split('/')[2]}`);
  return (await answer.json()).descriptor.engine;
}

/** Somebody at the page of a room for messages. */
class Correspondent extends Visitor {
  /**
   * @param {import('@playwright/test').Browser} browser
   * @param {import('@playwright/test').BrowserContextOptions} [options]
   */
  static async comes(browser, options = DESKTOP) {
    const context = await browser.newContext({ ...LIGHT, ...options });
    return new Correspondent(await context.newPage());
  }

  /**
   * Follows a link to the room and begins.
   * @param {string} link
   * @param {string} name
   */
  async begin(link, name) {
    await this.open(link);
    await this.page.getByLabel('Your name, for those you call').fill(name);
    await this.page.getByRole('button', { name: 'Begin' }).click();
    await this.page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
  }

  /** Makes a link for somebody. @param {string} label */
  async link(label) {
    await this.page.getByLabel('For whom?').fill(label);
    await this.page.getByRole('button', { name: 'Make a link' }).click();
    const field = this.page.getByLabel(`Contact link for ${label}`, { exact: true });
    return field.inputValue();
  }

  /**
   * Adds somebody by a link, and stands in the conversation with them.
   * @param {string} link
   * @param {string} name
   */
  async add(link, name) {
    const { page } = this;
    if (!(await page.getByLabel('Their contact link').isVisible()))
      await page.getByText('Add somebody', { exact: true }).click();
    await page.getByLabel('Their contact link').fill(link);
    await page.getByLabel(/What you call/).fill(name);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('heading', { name, exact: true }).waitFor();
  }

  /** @param {string} text */
  async write(text) {
    await this.page.getByLabel('Your message').fill(text);
    await this.page.getByRole('button', { name: 'Send', exact: true }).click();
  }

  /** Waits until a text of the other side is there. @param {string} text */
  async hears(text) {
    const message = this.page.locator('[data-message]:not(.own)').filter({ hasText: text });
    await message.waitFor();
    assert.equal(await message.count(), 1);
  }

  /**
   * Waits until an own text stands so.
   * @param {string} text
   * @param {string} state
   */
  async stands(text, state) {
    const message = this.page.locator(`.own[data-message="${state}"]`);
    await message.filter({ hasText: text }).waitFor();
  }

  async digits() {
    await this.page.getByText('Is it really them?').click();
    return this.page.locator('[data-code]').innerText();
  }
}

test('two people add each other by link, talk, one goes and comes back', async ({
  browser,
  deployment,
}) => {
  const links = await deployment.room('Letters', LETTERS);
  assert.equal(await engineOf(links[0]), 'clarion', 'as rooms for messages have it');
  const ann = await Correspondent.comes(browser);
  // A browser that opens the room by its usual link is led to the page for messages.
  await ann.begin(links[0], 'Ann');
  assert.match(ann.page.url(), /#\/chat\//);
  const ben = await Correspondent.comes(browser, { ...PHONE, colorScheme: 'dark' });
  const toAnn = await ann.link('Ben');
  await ann.isAccessible();
  await ann.picture('messages-links-desktop');
  // Ben opens Ann's link, and gives her one of his.
  await ben.open(toAnn);
  await ben.page.getByText('You followed the contact link').waitFor();
  await ben.fits();
  await ben.isAccessible();
  await ben.picture('messages-welcome-phone-dark');
  await ben.begin(toAnn, 'Ben');
  const toBen = await ben.link('Ann');
  await ben.add(toAnn, 'Ann');
  await ann.add(toBen, 'Ben');
  await ben.write('Are you there?');
  await ben.page.locator('[data-calling]').waitFor();
  await ben.stands('Are you there?', 'waiting');
  await ann.page.getByText('Ben calls you.').waitFor();
  await ann.isAccessible();
  await ann.picture('messages-called-desktop');
  await ann.page.getByRole('button', { name: 'Accept', exact: true }).click();
  await ann.hears('Are you there?');
  await ben.stands('Are you there?', 'delivered');
  await ann.write('Here I am.\nWhat is it?');
  await ben.hears('Here I am.');
  await ann.stands('Here I am.', 'delivered');
  assert.equal(await ann.digits(), await ben.digits());
  for (const visitor of [ann, ben]) {
    await visitor.fits();
    await visitor.isAccessible();
  }
  // What the states mean can be read on a phone, too.
  await ben.page.getByText('What becomes of a message').click();
  const meaning = ben.page.locator('dd').first();
  assert.ok(await meaning.evaluate((one) => one.clientWidth > innerWidth / 3), 'it is squeezed');
  await ann.picture('messages-talk-desktop');
  await ben.picture('messages-talk-phone-dark');

  // No server takes what Ann hands in: the round goes on without it, she is told, and it goes out
  // with a later one.
  const submissions = '**/api/v1/rooms/*/epochs/*/submission';
  await ann.page.route(submissions, (route) => route.fulfill({ status: 503, json: {} }));
  await ann.write('Do you get this?');
  await ann.stands('Do you get this?', 'round-stopped');
  await ann.page.unroute(submissions);
  await ben.hears('Do you get this?');
  await ann.stands('Do you get this?', 'delivered');

  // Ben leaves; what Ann says waits on her device, and is there when he is back.
  await ben.page.goto('about:blank');
  await ann.write('Come back soon.');
  await ann.stands('Come back soon.', 'sent');
  await ann.stands('Come back soon.', 'sent-again');
  await ben.open(toAnn);
  await ben.hears('Come back soon.');
  await ben.hears('Here I am.');
  await ann.stands('Come back soon.', 'delivered');

  // A second tab waits its turn, and nothing that can be read lies in the browser.
  const tab = await ben.secondTab();
  await tab.open(toAnn);
  await tab.page.locator('[data-elsewhere]').waitFor();
  await tab.isAccessible();
  const kept = await ben.page.evaluate(async () => {
    const opened = await new Promise((resolve, reject) => {
      const request = indexedDB.open('ostrakon-messages');
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    const all = (/** @type {string} */ name) =>
      new Promise((resolve) => {
        const request = opened.transaction(name).objectStore(name).getAll();
        request.onsuccess = () => resolve(request.result);
      });
    const [room] = await all('rooms');
    const [key] = await all('keys');
    const words = new TextDecoder('latin1').decode(room.sealed);
    return { extractable: key.extractable, words, text: JSON.stringify({ ...localStorage }) };
  });
  assert.equal(kept.extractable, false);
  for (const text of [kept.words, kept.text]) assert.ok(!text.includes('Come back'));
  await ben.page.close();
  await tab.page.getByRole('heading', { name: 'Ann', exact: true }).waitFor();
  assert.deepEqual([...ann.complaints, ...tab.complaints], []);
});

test(
  'a link that was taken back reaches nobody, and the page says what that may mean',
  AT_NIGHT,
  async ({ browser, deployment }) => {
    const links = await deployment.room('Letters', LETTERS);
    const ann = await Correspondent.comes(browser, PHONE);
    const eve = await Correspondent.comes(browser, PHONE);
    await ann.begin(links[0], 'Ann');
    const link = await ann.link('Eve');
    await ann.fits();
    await ann.picture('messages-links-phone');
    await ann.page.getByRole('button', { name: 'Take back the link for Eve' }).click();
    await ann.page.getByRole('dialog').getByRole('button', { name: 'Take back' }).click();
    await ann.page.getByText('The link for Eve is taken back.').waitFor();
    await eve.begin(link, 'Eve');
    await eve.add(link, 'Ann');
    await eve.write('Let me in.');
    await eve.page.getByText('may have taken this link back').waitFor();
    await eve.fits();
    await eve.isAccessible();
    await eve.picture('messages-unanswered-phone');
    assert.equal(await ann.page.locator('[data-contact]').count(), 0);
    // A link of one's own, and what is none, are refused with words.
    const own = await ann.link('Dora');
    await ann.page.getByText('Add somebody', { exact: true }).click();
    await ann.page.getByLabel('Their contact link').fill(own);
    await ann.page.getByLabel('What you call them').fill('me');
    await ann.page.getByRole('button', { name: 'Add', exact: true }).click();
    await ann.page.getByRole('alert').getByText('a link of your own').waitFor();
    await ann.page.getByLabel('Their contact link').fill('http://example.org');
    await ann.page.getByRole('button', { name: 'Add', exact: true }).click();
    await ann.page.getByRole('alert').getByText('not a contact link').waitFor();
    // German words are longer.
    for (const [visitor, what] of /** @type {const} */ ([
      [ann, 'links'],
      [eve, 'unanswered'],
    ])) {
      await visitor.page.getByLabel('Language').selectOption('Deutsch');
      await visitor.page.locator('html[lang="de"]').waitFor();
      await visitor.fits();
      await visitor.isAccessible();
      await visitor.picture(`messages-${what}-phone-de`);
    }
    assert.deepEqual([...ann.complaints, ...eve.complaints], []);
  },
);
