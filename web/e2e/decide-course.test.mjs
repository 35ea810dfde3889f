// What happens to decisions besides going well: servers that fall over, people who stay away, are taken off the list or come with a used
// link, accounts that move, files that were changed.

import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';

import { Decider } from './decider.mjs';
import { start } from './deployment.mjs';
import { PHONE, launch } from './visitor.mjs';

/** Milliseconds in which those who come at all have come, also on a busy machine. */
const TIME = 90_000;
/** For what needs a chain of records to be read and verified. */
const LONG = { timeout: 120_000 };

/** @type {Awaited<ReturnType<typeof start>>} */
let deployment;
/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Decider} */
let anna;
/** @type {Decider} */
let ben;
/** Addresses of decisions that end at their deadline: what happens until then takes no time of its own. @type {Record<string, string>} */
const waiting = {};

before(async () => {
  [deployment, browser] = await Promise.all([start(), launch()]);
  [anna, ben] = [await Decider.come(browser), await Decider.come(browser, PHONE)];
});

after(async () => {
  await browser?.close();
  await deployment?.stop();
});

const origin = (party = 0) => deployment.origins[party] ?? '';

test('two decisions wait for somebody who does not come', async () => {
  for (const stand of ['Nobody', 'Only all three operators together']) {
    const deadline = new Date(Date.now() + TIME);
    const wish = {
      question: `Who stands in? ${stand}`,
      me: 'Anna',
      others: ['Ben'],
      stand,
      rule: 'Everybody agrees',
      deadline,
    };
    const links = await anna.makes(origin(), wish);
    waiting[stand] = anna.page.url();
    await anna.page.getByRole('button', { name: 'Accept', exact: true }).click();
    await anna.at('waiting');
    await ben.accepts(links['Ben'] ?? '');
    await anna.at('answer');
    await anna.page.getByText('After you comes Ben.').waitFor();
    const learned =
      stand === 'Nobody'
        ? 'could look at what the result would be'
        : 'could open every single answer';
    await anna.page.getByText(learned).waitFor();
    await anna.answers('Yes');
    await anna.hasAnswered();
  }
});

test('a table of one’s own is computed, and servers that are killed between the visits lose nothing', async () => {
  // Nobody needs a link: the two know each other by now.
  await anna.makes(origin(), {
    question: 'A draw?',
    me: 'Anna',
    known: ['Ben'],
    rule: 'A table of your own',
    outputs: [3, 9, 3],
  });
  const link = anna.page.url();
  await anna.answers('Yes');
  await anna.hasAnswered();
  for (const party of [0, 1, 2]) await deployment.kill(party);
  for (const party of [0, 1, 2]) await deployment.back(party);
  await anna.page.reload();
  await anna.at('answered');
  await ben.open(link);
  await ben.at('answer');
  await ben.page.getByRole('rowheader', { name: '1 × No and 1 × Yes' }).waitFor();
  await ben.isPresentable('table-phone');
  // The first server, which takes the answers, falls over again while one is on its way.
  await deployment.kill(0);
  await ben.answers('No');
  await ben.hasAnswered();
  await deployment.back(0);
  for (const person of [anna, ben])
    assert.match(await person.result(), /The table says 9.*Nobody stayed away/);
});

test('a link that was used opens nothing for anybody else', async () => {
  const [zoe, stranger] = [await Decider.come(browser), await Decider.come(browser)];
  const links = await anna.makes(origin(), {
    question: 'Shall we move?',
    me: 'Anna',
    others: ['Zoe', 'Yan'],
    known: ['Ben'],
  });
  await zoe.accepts(links['Zoe'] ?? '');
  await stranger.open(links['Zoe'] ?? '');
  await stranger.page.getByText('This invitation was used before').waitFor(LONG);
  await stranger.isPresentable('spent');
  assert.equal(await stranger.page.getByRole('button', { name: 'Accept', exact: true }).count(), 0);
  waiting['Zoe'] = anna.page.url();
  await Promise.all([zoe.leave(), stranger.leave()]);
});

test('who has not accepted is taken off the list, and the others go on; then it is called off', async () => {
  await anna.open(waiting['Zoe'] ?? '');
  await anna.guest('Yan').getByRole('button', { name: 'Take off the list… Yan' }).click();
  await anna.confirms('Take off the list');
  await anna.at('answer');
  await anna.page.locator('[data-person="Yan"]').getByText('was taken off the list').waitFor();
  await anna.page.getByRole('button', { name: 'Call the decision off…' }).click();
  await anna.confirms('Call it off');
  await anna.at('cancelled');
  await ben.open(waiting['Zoe'] ?? '');
  await ben.page.getByText('has called it off').waitFor(LONG);
  await ben.isPresentable('cancelled-phone');
});

test('an account moves to another device whole, and no other file takes its place', async () => {
  await anna.open(`${origin()}/#/decide`);
  await anna.page.getByText('Your account', { exact: true }).click();
  await anna.page.getByRole('button', { name: 'Save as a file…' }).click();
  const [download] = await Promise.all([
    anna.page.waitForEvent('download'),
    anna.confirms('Save the file'),
  ]);
  const device = await Decider.come(browser, PHONE);
  await device.open(`${origin(2)}/#/decide`);
  await device.page.getByText('Your account', { exact: true }).click();
  const code = () => device.page.locator('details code').first().innerText();
  const before = await code();
  const file = device.page.locator('details input[type=file]').first();
  await file.setInputFiles({
    name: 'holiday.json',
    mimeType: 'application/json',
    buffer: Buffer.from('{"photos":[]}'),
  });
  await device.confirms('Replace it');
  await device.page.getByText('this is no file with an account').waitFor();
  assert.equal(await code(), before, 'a wrong file changes nothing');
  await file.setInputFiles(await download.path());
  await device.confirms('Replace it');
  await device.page.getByText('The account was loaded.').waitFor();
  assert.notEqual(await code(), before);
  await device.page.getByRole('link', { name: 'A draw?' }).click();
  await device.at('result');
  await device.page.locator('[data-person="Anna"]').getByText('you').waitFor();
  await device.leave();
});

test('saved records are checked without a server, and a changed letter is found', async () => {
  await ben.open(await known(ben, 'A draw?'));
  await ben.at('result');
  const records = await ben.saves('Save the records');
  await ben.open(`${origin()}/#/decide`);
  await ben.page.getByText('Check the saved records of a decision').click();
  const file = ben.page.locator('details input[type=file]').last();
  const check = (/** @type {string} */ text) =>
    file.setInputFiles({
      name: 'records.json',
      mimeType: 'application/json',
      buffer: Buffer.from(text),
    });
  await check(records);
  await ben.page.locator('[data-archive=holds]').getByText('The table says 9').waitFor(LONG);
  await ben.isPresentable('archive-phone');
  const middle = Math.floor(records.length / 2);
  await check(
    `${records.slice(0, middle)}${records[middle] === 'A' ? 'B' : 'A'}${records.slice(middle + 1)}`,
  );
  await ben.page
    .locator('[data-archive=refused]')
    .getByText('Do not believe this file')
    .waitFor(LONG);
  assert.equal(await ben.page.locator('[data-archive=holds]').count(), 0);
  await ben.isAccessible();
});

/** Where a decision is, from the list of somebody's own. @param {Decider} person @param {string} question */
async function known(person, question) {
  await person.open(`${origin()}/#/decide`);
  return `${origin()}/${await person.page.getByRole('link', { name: question }).getAttribute('href')}`;
}

test('where nobody stands in there is no result; where all three operators do, there is one', async () => {
  await anna.open(waiting['Nobody'] ?? '');
  await anna.at('lapsed');
  await anna.page.getByText('There is no result: Ben stayed away').waitFor();
  await anna.isPresentable('lapsed');
  await ben.open(waiting['Only all three operators together'] ?? '');
  assert.match(await ben.result(), /Not passed.*Ben stayed away/);
});
