// The operator's page, at a real server.

import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';

import { HeadlessHost } from './support/headless-host.mjs';
import { test } from './support/test.mjs';
import { DESKTOP, PHONE, Visitor } from './support/visitor.mjs';

/** @param {Visitor} visitor @param {string} token */
async function enter(visitor, token) {
  await visitor.page.getByLabel('Administrator token').fill(token);
  await visitor.page.getByRole('button', { name: 'Show my server' }).click();
}

test('an operator sees the server, closes a room, and the tab forgets the token', async ({
  browser,
  deployment,
}) => {
  await HeadlessHost.open(deployment.origin(), { name: 'Metroon' }, deployment.token);
  const visitor = (await Visitor.arrive(browser, DESKTOP)).notesRequests();
  const { page } = visitor;
  await visitor.open(`${deployment.origin()}/#/operator`);
  await enter(visitor, 'not the token of anybody');
  await page.getByText('This is not the token of this server.').waitFor();
  await visitor.isAccessible();
  visitor.complaints.length = 0;

  const token = deployment.token;
  await enter(visitor, token);
  await page.locator('[data-reach="direct"]').nth(1).waitFor();
  await page.locator('[data-action="create room"]').filter({ hasText: 'Metroon' }).waitFor();
  const seen = await page.locator('[data-seen]').getAttribute('data-seen');
  await page.locator(`[data-seen]:not([data-seen="${seen}"])`).waitFor();
  await page.getByRole('img', { name: 'Batches ready for use' }).waitFor();
  await visitor.isAccessible();

  await page.getByRole('button', { name: 'Close: Metroon' }).click();
  await page.getByRole('button', { name: 'Really close?' }).click();
  await page.locator('[data-action="close room"]').filter({ hasText: 'Metroon' }).waitFor();
  await page
    .getByRole('row', { name: /Metroon/ })
    .filter({ hasText: 'closed' })
    .first()
    .waitFor();

  const remove = page.getByRole('button', { name: 'Delete from this server… Metroon' });
  await remove.click();
  await page
    .getByRole('dialog')
    .getByText('The two other operators decide for their own servers')
    .waitFor();
  await visitor.isAccessible();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await remove.click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete from this server' }).click();
  await page.getByText('“Metroon” is deleted from this server.').waitFor();
  await page.locator('[data-action="delete room"]').first().waitFor();
  assert.equal(await remove.count(), 0);
  // The focus is not lost with the button.
  await visitor.focuses(page.locator('#rooms'));

  await page.getByLabel('What is logged').fill('warn');
  await page.getByRole('button', { name: 'Change' }).click();
  await page.getByText('The server logs warn now.').waitFor();
  assert.deepEqual(visitor.complaints, []);
  const asked = new Set(visitor.requests.map((request) => new URL(request.url()).origin));
  assert.deepEqual([...asked], [deployment.origin()], 'the token goes to one server only');
  assert.ok(!JSON.stringify(await page.evaluate(() => ({ ...localStorage }))).includes(token));

  await page.reload();
  await page.locator('[data-reach]').first().waitFor();
  await page.getByRole('button', { name: 'Forget the token' }).click();
  await page.getByLabel('Administrator token').waitFor();
  await page.reload();
  await page.getByLabel('Administrator token').waitFor();
});

test('on a phone in the dark the page fits, and evidence is saved as the server wrote it', async ({
  browser,
  deployment,
}) => {
  const visitor = await Visitor.arrive(browser, { ...PHONE, colorScheme: 'dark' });
  const { page } = visitor;
  const file = {
    format: 'ostrakon-fault-1',
    seen_at: 1_700_000_000,
    culprit: 2,
    what: 'it whispered',
    finding: 'proved',
    evidence: 'AAEC',
  };
  await page.route('**/api/v1/operator/faults', (route) => route.fulfill({ json: [file] }));
  await visitor.open(`${deployment.origin()}/#/operator`);
  await enter(visitor, deployment.token);
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download the evidence' }).click();
  const saved = await (await saving).path();
  assert.deepEqual(JSON.parse(await readFile(saved, 'utf8')), file);
  assert.equal(
    await page.evaluate(() => document.documentElement.scrollWidth),
    PHONE.viewport.width,
  );
  await visitor.isAccessible();
  await visitor.picture('operator-phone-dark');
});

test('an operator sees what a member of a committee computes', async ({ browser, committee }) => {
  const visitor = await Visitor.arrive(browser, PHONE);
  const { page } = visitor;
  await visitor.open(`${committee}/#/operator`);
  await page.getByText('in the file operator.token').waitFor();
  await enter(visitor, 'not the token of anybody');
  await page.getByText('This is not the token of this server.').waitFor();
  visitor.complaints.length = 0;
  const one = { id: 'ab'.repeat(32), title: 'How long?', job: 'stats', phase: { is: 'computing' } };
  const computations = [{ ...one, inputs: 12, minimum: 10, begun: 1, exchanges: 47 }];
  const member = { name: 'alpha', number: 0, members: 3, missing: ['gamma'], computations };
  await page.route('**/api/v1/operator/computations', (route) => route.fulfill({ json: member }));
  await enter(visitor, 'the token');
  const row = page.getByRole('row', { name: /How long\?/ });
  assert.match(await row.innerText(), /stats\s+computing\s+12\s+10\s+1\s+47/);
  await page.getByText('No connection with: gamma.').waitFor();
  await visitor.isAccessible();
  await visitor.picture('operator-committee');
  assert.deepEqual(visitor.complaints, []);
});
