// What a host does, as participants see it: questions, members, marks on the wall, the short code.

import { strict as assert } from 'node:assert';

import { keyOf } from './support/headless-host.mjs';
import { test } from './support/test.mjs';
import { PHONE, Visitor } from './support/visitor.mjs';

test('a question is answered in one epoch, and everybody sees the result; marks of the host are shown to all', async ({
  browser,
  deployment,
}) => {
  const { host, links } = await deployment.hosted('Heliaia', {
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

  // The epoch waits until both have answered.
  const go = await ben.staysOut();
  await host.poll(
    { question: 'Shall we adjourn?', form: { choice: { options: ['Yes', 'No'], several: false } } },
    2,
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
  await go();
  for (const visitor of [anna, ben]) {
    await visitor.page.locator('[data-ballot="counted"] [data-chart="2"]').waitFor();
    await visitor.page.getByText('Your answer was counted.').waitFor();
  }
  await anna.picture('poll-counted');

  const [question, insult] = [await host.target('Why so late?'), await host.target('An insult.')];
  await host.act({ pin: { target: question, pinned: true } });
  await host.act({ hide: { target: insult, hidden: true } });
  await anna.page.locator('[data-pinned]').getByText('Why so late?').waitFor();
  await anna.page.getByText('1 message hidden by the host').waitFor();
  assert.equal(await anna.page.getByText('An insult.').count(), 0);
  await anna.isAccessible();
  await anna.picture('marks');
});

test('in a room for members, who is not admitted or was dismissed is told so, and begins when admitted', async ({
  browser,
  deployment,
}) => {
  const { host, links } = await deployment.hosted('Boule', { admission: 'members' });
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
});

test('who opens an invitation that was taken back is told so', async ({ browser, deployment }) => {
  const { host, links } = await deployment.hosted('Tholos', { admission: 'members' });
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
});

test('an invitation is good for one device, and its key moves to another when the first one gives it up', async ({
  browser,
  deployment,
}) => {
  const { host, links } = await deployment.hosted('Prytaneion', { admission: 'members' });
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
});

test('a short code leads to its room, and says whom it trusts', async ({ browser, deployment }) => {
  const { host } = await deployment.hosted('Lykeion');
  const visitor = await Visitor.arrive(browser);
  await visitor.open(deployment.origin());
  await visitor.page
    .getByLabel('Link or code of a room')
    .fill(host.code.toLowerCase().replace('-', ' '));
  await visitor.page.keyboard.press('Enter');
  await visitor.page.getByText('this page has to believe its server, alpha').waitFor();
  await visitor.isAccessible();
  await visitor.picture('code');
  await visitor.page.getByRole('link', { name: 'Go on to the room' }).click();
  await visitor.page.getByRole('heading', { name: 'Lykeion' }).waitFor();
});
