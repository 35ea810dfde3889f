// What happens to decisions besides going well: servers that fall over, people who stay away, are
// taken off the list or come with a used link, accounts that move, files that were changed.

import { strict as assert } from 'node:assert';

import { Decider, inTime } from './support/decider.mjs';
import { AT_NIGHT } from './support/night.mjs';
import { test } from './support/test.mjs';
import { PHONE } from './support/visitor.mjs';

/** @typedef {import('@playwright/test').Browser} Browser */

/**
 * Two people who have been in one decision, so that they ask each other without a link.
 *
 * @param {Browser} browser
 * @param {string} origin
 * @returns {Promise<[Decider, Decider]>}
 */
async function acquainted(browser, origin) {
  const [anna, ben] = [await Decider.come(browser), await Decider.come(browser, PHONE)];
  const links = await anna.makes(origin, {
    question: 'Are you there?',
    me: 'Anna',
    others: ['Ben'],
  });
  await ben.accepts(links['Ben'] ?? '');
  await anna.at('answer');
  return [anna, ben];
}

for (const [stand, learned, when] of /** @type {const} */ ([
  ['Nobody', 'could look at what the result would be', AT_NIGHT],
  ['Only all three operators together could put', 'could open every single answer', {}],
]))
  test(`somebody stays away, and stands in: ${stand}`, when, async ({ browser, deployment }) => {
    const [anna, ben] = await inTime(browser, async (deadline, anna, ben) => {
      const links = await anna.makes(deployment.origin(), {
        question: `Who stands in? ${stand}`,
        me: 'Anna',
        others: ['Ben'],
        stand,
        rule: 'Everybody agrees',
        deadline,
      });
      await anna.page.getByRole('button', { name: 'Accept', exact: true }).click();
      await anna.at('waiting');
      await ben.accepts(links['Ben'] ?? '');
      await anna.at('answer');
      await anna.page.getByText('After you comes Ben.').waitFor();
      await anna.page.getByText(learned).waitFor();
      await anna.answers('Yes');
      await anna.hasAnswered();
      return /** @type {const} */ ([anna, ben]);
    });
    await anna.at('lapsed');
    // Of two both must answer, whoever could stand in.
    const why = stand === 'Nobody' ? 'Ben stayed away' : '1 person answered, and 2 had to. Nothing';
    await anna.page.getByText(`There is no result: ${why}`).waitFor();
    await ben.at('lapsed');
    await anna.isPresentable('lapsed');
  });

test(
  'a table of one’s own is computed, and servers killed between the visits lose nothing',
  AT_NIGHT,
  async ({ browser, starts }) => {
    const deployment = await starts();
    const [anna, ben] = await acquainted(browser, deployment.origin());
    // Who came by an invitation has an account for that decision alone: all need links again.
    const links = await anna.makes(deployment.origin(), {
      question: 'A draw?',
      me: 'Anna',
      others: ['Ben'],
      rule: 'A table of your own',
      outputs: [3, 9, 3],
    });
    await ben.accepts(links['Ben'] ?? '');
    await anna.at('answer');
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
  },
);

test('a link that was used opens nothing for anybody else; who has not accepted is taken off the list, and the others go on; then it is called off', async ({
  browser,
  deployment,
}) => {
  const [anna, zoe, stranger] = [
    await Decider.come(browser),
    await Decider.come(browser, PHONE),
    await Decider.come(browser),
  ];
  const links = await anna.makes(deployment.origin(), {
    question: 'Shall we move?',
    me: 'Anna',
    others: ['Zoe', 'Yan'],
  });
  await zoe.accepts(links['Zoe'] ?? '');
  await stranger.open(links['Zoe'] ?? '');
  await stranger.page.getByText('This invitation was used before').waitFor();
  await stranger.isPresentable('spent');
  assert.equal(await stranger.page.getByRole('button', { name: 'Accept', exact: true }).count(), 0);

  await anna.guest('Yan').getByRole('button', { name: 'Take off the list… Yan' }).click();
  await anna.confirms('Take off the list');
  await anna.at('answer');
  await anna.page.locator('[data-person="Yan"]').getByText('was taken off the list').waitFor();
  await anna.page.getByRole('button', { name: 'Call the decision off…' }).click();
  await anna.confirms('Call it off');
  await anna.at('cancelled');
  await zoe.page.getByText('has called it off').waitFor();
  await zoe.isPresentable('cancelled-phone');
});

test('an account moves to another device whole, and no other file takes its place; saved records are checked without a server, and a changed letter is found', async ({
  browser,
  deployment,
}) => {
  const origin = deployment.origin();
  const [anna, ben] = await acquainted(browser, origin);
  await Promise.all([anna.answers('Yes'), ben.answers('No')]);
  await Promise.all([anna.at('result'), ben.at('result')]);
  const question = 'Are you there?';
  const records = await ben.saves('Save the records');

  await anna.open(`${origin}/#/decide`);
  await anna.page.getByText('Your account', { exact: true }).click();
  await anna.page.getByRole('button', { name: 'Save as a file…' }).click();
  const [download] = await Promise.all([
    anna.page.waitForEvent('download'),
    anna.confirms('Save the file'),
  ]);
  const device = await Decider.come(browser, PHONE);
  await device.open(`${deployment.origin(2)}/#/decide`);
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
  await device.page.getByRole('link', { name: question }).click();
  await device.at('result');
  await device.page.locator('[data-person="Anna"]').getByText('you').waitFor();

  await ben.open(`${origin}/#/decide`);
  await ben.page.getByText('Check the saved records of a decision').click();
  const saved = ben.page.locator('details input[type=file]').last();
  const check = (/** @type {string} */ text) =>
    saved.setInputFiles({
      name: 'records.json',
      mimeType: 'application/json',
      buffer: Buffer.from(text),
    });
  await check(records);
  await ben.page.locator('[data-archive=holds]').getByText('Not passed').waitFor();
  await ben.isPresentable('archive-phone');
  await check(records.replace('ostrakon-decision-1', 'ostrakon-decision-7'));
  await ben.page.locator('[data-archive=other-version]').getByText('decision-7').waitFor();
  assert.equal(await ben.page.locator('[data-archive=refused]').count(), 0);
  const middle = Math.floor(records.length / 2);
  await check(
    `${records.slice(0, middle)}${records[middle] === 'A' ? 'B' : 'A'}${records.slice(middle + 1)}`,
  );
  await ben.page.locator('[data-archive=refused]').getByText('Do not believe this file').waitFor();
  assert.equal(await ben.page.locator('[data-archive=holds]').count(), 0);
  await ben.isAccessible();
});
