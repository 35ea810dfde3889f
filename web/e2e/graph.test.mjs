// Contributing a file of edges that nobody sees, and reading what came of several.

import { strict as assert } from 'node:assert';

import { AT_NIGHT } from './support/night.mjs';
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

/** What the page says of each stage, in the order in which they pass. */
const STAGES = [
  'Agreeing on which contributions count',
  'Preparing secret shuffles',
  'Checking that every list is a graph, without seeing one',
  'Following the connections',
  'Verifying what was computed',
  'Opening what was asked for, and nothing else',
];

test('stages are shown as they pass', AT_NIGHT, async ({ browser, committee }) => {
  const creator = await Visitor.arrive(browser, DESKTOP);
  await creator.open(`${committee}/#/ask/graph`);
  const { page } = creator;
  await page.getByLabel('What is it about?').fill('How far is everybody from the first one?');
  await page.getByText('Numbers from 0', { exact: true }).click();
  // So large that it takes some seconds.
  await page.getByLabel('How many are there?').fill('2000');
  await page.getByLabel('Start from').fill('0');
  await page.getByLabel('How many connections far').fill('6');
  await page.getByText('Everybody with the link', { exact: true }).click();
  await page.getByLabel('How many links').fill('1');
  await page.getByLabel('Fewest contributions').fill('1');
  await page.getByLabel('Most connections of one contributor').fill('20000');
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
  const links = page.getByLabel('One link for each person');
  await links.waitFor();
  const owner = await Visitor.arrive(browser, PHONE);
  await owner.open(await links.inputValue());
  const edges = Array.from({ length: 1999 }, (_, vertex) => `${vertex},${vertex + 1}`);
  const buffer = Buffer.from(edges.join('\n'));
  const file = { name: 'line.csv', mimeType: 'text/csv', buffer };
  await owner.page.getByLabel('File with your connections').setInputFiles(file);
  await owner.page.getByRole('button', { name: 'Contribute them' }).click();
  await owner.page.getByText('Your connections are in').waitFor();
  await owner.leave();
  await page.getByRole('link', { name: 'Go to the question' }).click();
  await page.getByRole('button', { name: 'Close, and compute the result' }).click();
  const step = page.locator('[aria-current="step"]');
  await step.waitFor();
  await creator.isAccessible();
  await creator.fits();
  await creator.picture('graph-stages');
  /** @type {string[]} */
  const seen = [];
  const result = page.getByRole('heading', { name: 'Result' });
  while ((await result.count()) === 0) {
    const [now] = await step.locator('span:first-child').allInnerTexts();
    if (now && now !== seen.at(-1)) seen.push(now);
  }
  const places = seen.map((stage) => STAGES.indexOf(stage));
  assert.ok(places.length > 1 && !places.includes(-1), `seen: ${seen}`);
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
  assert.deepEqual(creator.complaints, []);
});

test(
  'contributions that are kept are asked about again, and whoever contributes has read so',
  AT_NIGHT,
  async ({ browser, committee }) => {
    const creator = await Visitor.arrive(browser, DESKTOP);
    await creator.open(`${committee}/#/ask/graph`);
    const { page: asking } = creator;
    await asking.getByLabel('What is it about?').fill('How many pay each other?');
    await asking.getByLabel('Their names').fill('anna\nben\ncarl\n');
    await asking.getByText('How many connections', { exact: true }).click();
    await asking.getByText('Everybody with the link', { exact: true }).click();
    await asking.getByText('They are kept, so that I can ask more about them').click();
    await asking.getByLabel('How many more questions at most?').fill('1');
    await asking.getByLabel('For how many days after the result?').fill('2');
    await asking.getByLabel('Most connections of one contributor').fill('100');
    await creator.isAccessible();
    await creator.picture('graph-ask-kept');
    await asking.getByRole('button', { name: 'Ask', exact: true }).click();
    await asking.getByRole('heading', { name: 'Your question is asked' }).waitFor();
    const links = (await asking.getByLabel('One link for each person').inputValue()).split('\n');
    for (const [index, content] of ['anna,ben\n', 'ben,carl\n'].entries()) {
      const owner = await Visitor.arrive(browser, PHONE);
      await owner.open(links[index] ?? '');
      const { page } = owner;
      await page.getByText('can ask up to 1 more question about it within 2 days').waitFor();
      const buffer = Buffer.from(content);
      const file = page.getByLabel('File with your connections');
      await file.setInputFiles({ name: 'own.csv', mimeType: 'text/csv', buffer });
      await owner.picture(`graph-contribute-kept-${index}`);
      await page.getByRole('button', { name: 'Contribute them' }).click();
      await page.getByText('Your connections are in').waitFor();
      assert.deepEqual(owner.complaints, []);
      await owner.leave();
    }
    await asking.getByRole('link', { name: 'Go to the question' }).click();
    await asking.getByText('2 contributions').waitFor();
    await asking.getByRole('button', { name: 'Close, and compute the result' }).click();
    await asking.getByText('2 connections', { exact: true }).waitFor();
    await asking.getByRole('heading', { name: 'Ask more about the same connections' }).waitFor();
    const first = asking.url();
    await asking.getByText('Another question', { exact: true }).click();
    const ask = asking.getByRole('button', { name: 'Ask it, and compute at once' });
    await ask.click();
    await asking.getByRole('alert').getByText('Write what it is about').waitFor();
    await asking.getByLabel('What is it about?').fill('Who can be reached from Anna?');
    await asking.getByText('Who is near', { exact: true }).click();
    await asking.getByLabel('Start from').fill('anna');
    await asking.getByText('The value of each', { exact: true }).click();
    await creator.isAccessible();
    await creator.fits();
    await creator.picture('graph-again');
    await ask.click();
    await asking.getByRole('heading', { name: 'Who can be reached from Anna?' }).waitFor();
    await asking
      .getByText('It is computed on what was contributed to an earlier question')
      .waitFor();
    await asking.getByRole('heading', { name: 'Result' }).waitFor();
    await asking.getByText('within 6').waitFor();
    await creator.picture('graph-again-result');
    assert.equal(await asking.getByText('Ask more about the same connections').count(), 0);
    // There was to be one more question, and there is no other one.
    await asking.goto(first);
    await asking.getByText('Another question', { exact: true }).click();
    await asking.getByLabel('What is it about?').fill('And how many are there?');
    await asking.getByText('How many connections', { exact: true }).click();
    await ask.click();
    await asking.getByText('what was contributed is erased by now').waitFor();
    assert.equal(asking.url(), first);
  },
);
