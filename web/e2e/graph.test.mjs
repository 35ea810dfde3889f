// Contributing a file of edges that nobody sees, and reading what came of several.

import { strict as assert } from 'node:assert';

import { test } from './support/test.mjs';
import { DESKTOP, PHONE, Visitor } from './support/visitor.mjs';

/** @typedef {import('@playwright/test').Page} Page */

/**
 * Asks on the page; the links for contributors.
 * @param {Page} page
 */
async function ask(page) {
  const button = page.getByRole('button', { name: 'Ask', exact: true });
  await button.click();
  await page.getByRole('alert').getByText('Write what it is about').waitFor();
  await page.getByLabel('What is it about?').fill('Who knows whom?');
  await page.getByLabel('Their names').fill('anna\nben\ncarl\ndora\nemil\n');
  await page.getByLabel('Start from').fill('frida');
  await button.click();
  await page.getByRole('alert').getByText('Write a name from the list').waitFor();
  await page.getByLabel('Start from').fill('anna');
  await button.click();
  await page.getByRole('alert').getByText('With fewer than ten names').waitFor();
  const others = 'finn gina hans ines jana kurt'.split(' ');
  await page
    .getByLabel('Their names')
    .fill(['anna', 'ben', 'carl', 'dora', 'emil', ...others].join('\n'));
  await page.getByLabel('How many connections far').fill('3');
  await page.getByLabel('Most connections of one contributor').fill('1000');
}

test('connections are asked for, contributed and computed on, and only who asked reads the result', async ({
  browser,
  committee,
}) => {
  const creator = await Visitor.arrive(browser, DESKTOP);
  await creator.open(`${committee}/#/ask/graph`);
  const { page: asking } = creator;
  await ask(asking);
  await creator.isAccessible();
  await creator.picture('graph-ask');
  await asking.getByRole('button', { name: 'Ask', exact: true }).click();
  await asking.getByRole('heading', { name: 'Your question is asked' }).waitFor();
  const links = (await asking.getByLabel('One link for each person').inputValue()).split('\n');
  assert.equal(links.length, 2);
  const link = await asking.getByRole('textbox', { name: 'Link to the question' }).inputValue();
  const files = ['src,dst\nanna,ben\nben,carl\n', 'carl dora\n'];
  for (const [index, content] of files.entries()) {
    const owner = await Visitor.arrive(browser, index === 0 ? DESKTOP : PHONE);
    await owner.open(links[index] ?? '');
    const { page } = owner;
    await page.getByRole('heading', { name: 'Who knows whom?' }).waitFor();
    await page.getByText('Only who asked can read it').waitFor();
    const file = page.getByLabel('File with your connections');
    const bad = Buffer.from('anna,ben\nanna,frida\nnonsense\n');
    await file.setInputFiles({ name: 'bad.csv', mimeType: 'text/csv', buffer: bad });
    await page.getByText('2 lines are wrong').waitFor();
    await page.getByText('line 2: the job has no vertex "frida"').waitFor();
    await page.getByText('line 3: expected two names').waitFor();
    await owner.isAccessible();
    await owner.fits();
    await owner.picture(`graph-bad-line-${index}`);
    const buffer = Buffer.from(content);
    await file.setInputFiles({ name: 'good.csv', mimeType: 'text/csv', buffer });
    await page.getByText('every line is right').waitFor();
    // Counts tell of nobody alone, so nobody is warned.
    assert.equal(await page.getByText('they can show which connections are yours').count(), 0);
    await page.getByRole('button', { name: 'Contribute them' }).click();
    await page.getByText('Your connections are in').waitFor();
    await page.reload();
    await page.getByText('Your connections are in').waitFor();
    assert.deepEqual(owner.complaints, []);
    await owner.leave();
  }
  await asking.getByRole('link', { name: 'Go to the question' }).click();
  await asking.getByText('2 contributions').waitFor();
  await asking.getByRole('button', { name: 'Close, and compute the result' }).click();
  await asking.getByRole('heading', { name: 'Result' }).waitFor();
  const rows = await asking.locator('tbody tr').allInnerTexts();
  const counts = rows.map((row) => row.replaceAll(/\s+/g, ' ').trim());
  assert.deepEqual(counts, [
    'start 1',
    '1 connection 1',
    '2 connections 1',
    '3 connections 1',
    'not within 3 7',
  ]);
  await asking.getByText('of 2 contributions').waitFor();
  await creator.isAccessible();
  await creator.picture('graph-result');
  assert.deepEqual(creator.complaints, []);
  const reader = await Visitor.arrive(browser, PHONE);
  await reader.open(link);
  await reader.page.getByText('it is for who asked alone').waitFor();
  await reader.picture('graph-closed');
  assert.equal(await reader.page.locator('tbody tr').count(), 0);
  assert.deepEqual(reader.complaints, []);
  const german = await Visitor.arrive(browser, { ...PHONE, locale: 'de-DE' });
  await german.open(`${committee}/#/ask/graph`);
  await german.page.getByLabel('Worum geht es?').waitFor();
  await german.isAccessible();
  await german.fits();
  await german.picture('graph-ask-phone-german');
  assert.deepEqual(german.complaints, []);
});
