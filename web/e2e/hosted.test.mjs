// What a host does, as participants see it: questions, members, marks on the wall, the short code.

import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';

import { start } from './deployment.mjs';
import { Host, keyOf } from './host.mjs';
import { PHONE, Visitor, launch } from './visitor.mjs';

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

/** @param {object} settings */
async function hosted(settings) {
  const host = await Host.open(deployment.origins[0] ?? '', settings);
  return {
    host,
    links: /** @type {[string, string, string]} */ (
      deployment.origins.map((origin) => `${origin}/${host.route}`)
    ),
  };
}

/** Where a message stands: its epoch, and its place among those of that epoch. @param {Visitor} visitor @param {string} text */
async function target({ page }, text) {
  const entry = page.locator('[data-entry]').filter({ hasText: text });
  const texts = await entry.locator('.text').allInnerTexts();
  return { epoch: Number(await entry.getAttribute('data-entry')), index: texts.indexOf(text) };
}

test('a question is answered in one epoch, and everybody sees the result; marks of the host are shown to all', async () => {
  const { host, links } = await hosted({
    name: 'Heliaia',
    purpose: 'To judge what the assembly could not.',
  });
  const [anna, ben] = [await Visitor.arrive(browser), await Visitor.arrive(browser)];
  await anna.join(links[0]);
  await ben.join(links[1]);
  await anna.page.getByText('To judge what the assembly could not.').waitFor();
  await Promise.all([anna.say('Why so late?'), ben.say('An insult.')]);
  await Promise.all(
    [anna, ben].flatMap((visitor) => [visitor.reads('Why so late?'), visitor.reads('An insult.')]),
  );

  await host.poll(
    { question: 'Shall we adjourn?', form: { choice: { options: ['Yes', 'No'], several: false } } },
    3,
  );
  const answers = async (/** @type {Visitor} */ { page }, /** @type {string} */ answer) => {
    await page.getByRole('radio', { name: answer }).check();
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.getByText('Your answer is kept on this device until epoch').waitFor();
  };
  await Promise.all([answers(anna, 'Yes'), answers(ben, 'No')]);
  await anna.page.reload();
  await anna.page.getByRole('radio', { name: 'Yes', checked: true }).waitFor();
  await anna.picture('poll-open');
  await anna.isAccessible();
  for (const visitor of [anna, ben]) {
    await visitor.page
      .locator('[data-ballot="counted"] [data-chart="2"]')
      .waitFor({ timeout: 120_000 });
    await visitor.page.getByText('Your answer was counted.').waitFor();
  }
  await anna.picture('poll-counted');

  const [question, insult] = [await target(anna, 'Why so late?'), await target(anna, 'An insult.')];
  await host.act({ pin: { target: question, pinned: true } });
  await host.act({ hide: { target: insult, hidden: true } });
  await anna.page.locator('[data-pinned]').getByText('Why so late?').waitFor();
  await anna.page.getByText('1 message hidden by the host').waitFor();
  assert.equal(await anna.page.getByText('An insult.').count(), 0);
  await anna.isAccessible();
  await anna.picture('marks');
  await Promise.all([anna.leave(), ben.leave()]);
});

test('in a room for members, who is not admitted or was dismissed is told so, and begins when admitted', async () => {
  const { host, links } = await hosted({ name: 'Boule', admission: 'members' });
  const anna = await Visitor.arrive(browser);
  await anna.join(links[1]);
  const outside = anna.page.locator('[data-apart="outside"]');
  await outside.getByText('The host has not admitted this device yet').waitFor();
  await anna.isAccessible();
  await anna.picture('outside');
  const key = (await outside.locator('code').innerText()).replaceAll(/\s/g, '');
  await host.act({ admit: { keys: [key] } });
  await anna.takesPart();
  await host.act({ dismiss: { keys: [key] } });
  const dismissed = anna.page.locator('[data-apart="dismissed"]');
  await dismissed.getByText('The host has dismissed this device').waitFor();
  await anna.page.reload();
  await dismissed.waitFor();
  await anna.isAccessible();
  await anna.picture('dismissed');
  assert.equal(await anna.page.getByLabel('Your message').count(), 0);
  await host.act({ admit: { keys: [key] } });
  await anna.takesPart();
  await anna.leave();
});

test('who opens an invitation that was taken back is told so', async () => {
  const { host, links } = await hosted({ name: 'Tholos', admission: 'members' });
  const invitation = await host.invite();
  await host.act({ dismiss: { keys: [keyOf(invitation)] } });
  const anna = await Visitor.arrive(browser, PHONE);
  await anna.open(`${links[2]}/${invitation}`);
  await anna.page
    .locator('[data-apart="withdrawn"]')
    .getByText('The host has taken this invitation back')
    .waitFor();
  assert.equal(await anna.page.getByRole('button', { name: 'Take part', exact: true }).count(), 0);
  await anna.fits();
  await anna.isAccessible();
  await anna.picture('withdrawn-phone');
  await anna.leave();
});

test('an invitation is good for one device, and its key moves to another when the first one gives it up', async () => {
  const { host, links } = await hosted({ name: 'Prytaneion', admission: 'members' });
  const link = `${links[1]}/${await host.invite()}`;
  const [anna, other] = [await Visitor.arrive(browser), await Visitor.arrive(browser)];
  // Both have it open, and one is first.
  for (const visitor of [anna, other]) {
    await visitor.open(link);
    await visitor.page.getByText('this device makes a key of its own').waitFor();
  }
  await anna.isAccessible();
  await anna.page.getByRole('button', { name: 'Take part', exact: true }).click();
  await anna.takesPart();
  assert.ok(
    !anna.page.url().includes(link.split('/').at(-1) ?? ''),
    'the address does not show the invitation any more',
  );
  const refusal = other.page.locator('[data-apart="used"]');
  await refusal.getByText('This link has been used on another device').waitFor();
  assert.equal(await other.page.getByRole('button', { name: 'Take part', exact: true }).count(), 0);
  await other.isAccessible();
  await other.picture('invitation-used');
  await anna.page.reload();
  await anna.takesPart();

  await anna.page.getByText('Compare with others').click();
  await anna.page.getByRole('button', { name: 'Move to another device' }).click();
  const [file] = await Promise.all([
    anna.page.waitForEvent('download'),
    anna.page.getByRole('button', { name: 'Save and stop here' }).click(),
  ]);
  await anna.page.locator('[data-apart="moved"]').waitFor();
  await anna.isAccessible();
  await other.page
    .getByLabel('Go on here with the key of another device')
    .setInputFiles(await file.path());
  await other.takesPart();
  await Promise.all([anna.leave(), other.leave()]);
});

test('a short code leads to its room, and says whom it trusts', async () => {
  const { host } = await hosted({ name: 'Lykeion' });
  const visitor = await Visitor.arrive(browser);
  await visitor.open(deployment.origins[0] ?? '');
  await visitor.page
    .getByLabel('Link or code of a room')
    .fill(host.code.toLowerCase().replace('-', ' '));
  await visitor.page.keyboard.press('Enter');
  await visitor.page.getByText('this page has to believe its server, alpha').waitFor();
  await visitor.isAccessible();
  await visitor.picture('code');
  await visitor.page.getByRole('link', { name: 'Go on to the room' }).click();
  await visitor.page.getByRole('heading', { name: 'Lykeion' }).waitFor();
  await visitor.leave();
});
