// Asking for numbers that nobody sees, and answering.

import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { program } from './support/deployment.mjs';
import { AT_NIGHT } from './support/night.mjs';
import { test } from './support/test.mjs';
import { DESKTOP, PHONE, Visitor } from './support/visitor.mjs';

test('a question is asked, answered on phones, closed, and its result proved', async ({
  browser,
  committee,
}) => {
  const creator = await Visitor.arrive(browser, DESKTOP);
  // What is at the address of a committee is what one can ask it.
  await creator.open(`${committee}/`);
  const { page } = creator;
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
  await page.getByRole('alert').getByText('Write what you ask').waitFor();
  // Decisions are made elsewhere.
  assert.equal(await page.getByRole('link', { name: 'Decide', exact: true }).count(), 0);
  await page.getByLabel('What do you ask?').fill('How many minutes do you travel to work?');
  await page.getByLabel('Largest number').fill('120');
  await page.getByLabel('The sum and the mean').check();
  await page.getByLabel('The mean and how far').check();
  await page.getByLabel('Below which values').fill('nine');
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
  await page.getByRole('alert').getByText('Write shares from 0 to 100').waitFor();
  await page.getByLabel('Below which values').fill('90');
  await page.getByLabel('Fewest answers').fill('3');
  await page.getByLabel('Whoever has a link of their own').check();
  await page.getByLabel('How many links?').fill('3');
  await creator.isAccessible();
  await creator.picture('ask');
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
  await page.getByRole('heading', { name: 'Your question is asked' }).waitFor();
  const links = (await page.getByLabel('One link for each person').inputValue()).split('\n');
  assert.equal(links.length, 3);
  await creator.isAccessible();
  await page.getByRole('link', { name: 'Go to the question' }).click();
  await page.getByText('for people who got a link of their own').waitFor();

  // Whoever closes too early is told how many are missing, and nothing is lost.
  await page.getByRole('button', { name: 'Close, and compute the result' }).click();
  await page.getByRole('alert').getByText('3 answers are missing').waitFor();

  for (const [index, number] of ['20', '90', '45'].entries()) {
    const reporter = await Visitor.arrive(browser, PHONE);
    await reporter.open(links[index] ?? '');
    await reporter.page.getByLabel('Your number').fill('128');
    await reporter.page.getByRole('button', { name: 'Send' }).click();
    await reporter.page.getByText('Write a whole number from 0 to 127').waitFor();
    await reporter.page.getByLabel('Your number').fill(number);
    if (index === 0) {
      await reporter.isAccessible();
      await reporter.picture('answering');
    }
    await reporter.page.getByRole('button', { name: 'Send' }).click();
    await reporter.page.getByText('Your answer is in').waitFor();
    // What is in the browser tells nothing of the number, and nobody answers twice.
    const kept = await reporter.page.evaluate(() => JSON.stringify({ ...localStorage }));
    assert(!kept.includes(`"${number}"`), kept);
    await reporter.page.reload();
    await reporter.page.getByText('Your answer is in').waitFor();
    assert.deepEqual(reporter.complaints, []);
    await reporter.leave();
  }

  await page.getByRole('button', { name: 'Close, and compute the result' }).click();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  const numbers = await page.locator('dl').innerText();
  for (const shown of ['Median', '45', '90 % lie below', 'Sum', '155', 'Mean', '51.67', '28.96'])
    assert(numbers.includes(shown), numbers);
  await page.getByText('of 3 answers').waitFor();
  await creator.isAccessible();
  await creator.picture('result');
});

test('a question is taken back, and who answers later is told', async ({ browser, committee }) => {
  const creator = await Visitor.arrive(browser, DESKTOP);
  await creator.open(`${committee}/#/ask`);
  const { page } = creator;
  const link = await ask(creator, async () => {
    await page.getByLabel('What do you ask?').fill('How long is your way, in minutes?');
    await page.getByLabel('Largest number').fill('120');
  });
  const early = await Visitor.arrive(browser, PHONE);
  await early.open(link);
  await early.page.getByLabel('Your number').fill('20');
  await early.page.getByRole('button', { name: 'Send' }).click();
  await early.page.getByText('Your answer is in').waitFor();
  await page.getByText('1 answer').waitFor();
  await page.getByRole('button', { name: 'Take it back', exact: true }).click();
  // Who thinks again has lost nothing.
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Take it back', exact: true }).click();
  await creator.isAccessible();
  await creator.picture('take-back');
  await page.getByRole('button', { name: 'Take it back for good' }).click();
  for (const visitor of [creator, early]) {
    await visitor.page.getByText('Whoever asked has taken this back').waitFor();
    await visitor.page.getByText('what was handed in is erased').waitFor();
    assert.equal(await visitor.page.getByLabel('Your number').count(), 0);
    await visitor.isAccessible();
    assert.deepEqual(visitor.complaints, []);
    await visitor.leave();
  }
});

test(
  'a question that closes with too few answers tells how many are missing, and nothing else',
  AT_NIGHT,
  async ({ browser, committee }) => {
    // The page asks for whole hours; the program closes sooner.
    const home = await mkdtemp(path.join(tmpdir(), 'ostrakon-asked-'));
    const env = { ...process.env, XDG_STATE_HOME: home };
    /** @param {string[]} options */
    const stats = async (...options) => {
      const { stdout } = await promisify(execFile)(program(), ['stats', ...options], { env });
      return JSON.parse(stdout);
    };
    const question = ['--question', 'How long is your way?', '--minimum', '3', '--seconds', '15'];
    const { link } = await stats('create', '--server', committee, ...question, '--json');
    for (const [index, number] of ['737', '858'].entries())
      await stats('report', link, number, '--keep', path.join(home, `${index}`), '--json');
    const visitor = await Visitor.arrive(browser, PHONE);
    const { page } = visitor;
    await page.goto(link);
    await page.getByRole('heading', { name: 'Result' }).waitFor();
    await page.getByText('closed with too few answers: 1 more were needed').waitFor();
    await page.getByText('of 2 answers').waitFor();
    assert.equal(await page.locator('main dd, main table').count(), 0);
    assert(!/737|858/.test(await page.locator('main').innerText()));
    await visitor.isAccessible();
    await visitor.picture('result-too-few');
    assert.deepEqual(visitor.complaints, []);
    await visitor.leave();
    await rm(home, { recursive: true, force: true });
  },
);

test('what one server says of the end keeps nobody from answering', async ({
  browser,
  committee,
}) => {
  const creator = await Visitor.arrive(browser, DESKTOP);
  await creator.open(`${committee}/#/ask`);
  const link = await ask(creator, async () => {
    await creator.page.getByLabel('What do you ask?').fill('How long is your way, in minutes?');
    await creator.page.getByLabel('Largest number').fill('120');
  });
  const phases = [{ is: 'sealing' }, { is: 'cancelled', opened: [1] }, { is: 'done' }];
  for (const phase of phases) {
    const reporter = await Visitor.arrive(browser, PHONE);
    await reporter.page.route(`${committee}/api/v1/computations/*`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), phase } });
    });
    await reporter.open(link);
    await reporter.page.getByLabel('Your number').fill('20');
    await reporter.page.getByRole('button', { name: 'Send' }).click();
    await reporter.page.getByText('Your answer is in').waitFor();
    assert.equal(await reporter.page.getByText('had begun to open').count(), 0);
    await reporter.leave();
  }
  await creator.page.getByText(`${phases.length} answers`).waitFor();
  await creator.leave();
});

/**
 * Asks with the form as `fill` leaves it, and goes to the question; the link for those who answer.
 *
 * @param {Visitor} creator
 * @param {() => Promise<void>} fill
 */
async function ask(creator, fill) {
  const { page } = creator;
  await fill();
  await page.getByLabel('Fewest answers').fill('3');
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
  await page.getByRole('heading', { name: 'Your question is asked' }).waitFor();
  const link = await page.getByRole('textbox', { name: 'Link to the question' }).inputValue();
  await page.getByRole('link', { name: 'Go to the question' }).click();
  return link;
}

/** @param {Visitor} creator */
async function close({ page }) {
  await page.getByRole('button', { name: 'Close, and compute the result' }).click();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
}

test('noise is asked for, and whoever answers sees how much', async ({ browser, committee }) => {
  const creator = await Visitor.arrive(browser, PHONE);
  await creator.open(`${committee}/#/ask`);
  const { page } = creator;
  await ask(creator, async () => {
    await page.getByLabel('What do you ask?').fill('How many hours do you sleep?');
    await page.getByLabel('Largest number').fill('24');
    await page.getByLabel('Add noise').check();
    await page.getByText('fewer than 1,000 answers may be far off').waitFor();
    await page.getByLabel('How little may it tell?').fill('2');
    await creator.isAccessible();
    await creator.picture('ask-noise');
  });
  await page.getByText(/no single answer shows in the result \(ε = 2, δ below 2\^-5\d\)/).waitFor();
  await creator.leave();
});

test('groups have results of their own, and of a small one nothing is told', async ({
  browser,
  committee,
}) => {
  const creator = await Visitor.arrive(browser, DESKTOP);
  await creator.open(`${committee}/#/ask`);
  const { page } = creator;
  const link = await ask(creator, async () => {
    await page.getByLabel('What do you ask?').fill('How long is your way, in minutes?');
    await page.getByLabel('Largest number').fill('120');
    await page.getByLabel('Groups, one on each line').fill('North');
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByRole('alert').getByText('One group is none').waitFor();
    await page.getByLabel('Groups, one on each line').fill('North\nSouth\nFar away\n');
    await creator.isAccessible();
    await creator.picture('ask-groups');
  });
  await page.getByText('For each group by itself (North, South, Far away)').waitFor();
  const answers = [
    ['North', '10'],
    ['North', '30'],
    ['North', '20'],
    ['South', '60'],
    ['South', '90'],
    ['South', '70'],
    ['Far away', '99'],
  ];
  for (const [index, [group = '', number = '']] of answers.entries()) {
    const reporter = await Visitor.arrive(browser, PHONE);
    await reporter.open(link);
    await reporter.page.getByLabel('Your number').fill(number);
    if (index === 0) {
      // Who names no group has not answered.
      await reporter.page.getByRole('button', { name: 'Send' }).click();
      await reporter.page.locator('select:focus').waitFor();
    }
    await reporter.page.getByLabel('Your group').selectOption(group);
    if (index === 0) {
      await reporter.isAccessible();
      await reporter.picture('answering-group');
    }
    await reporter.page.getByRole('button', { name: 'Send' }).click();
    await reporter.page.getByText('Your answer is in').waitFor();
    assert.deepEqual(reporter.complaints, []);
    await reporter.leave();
  }
  await close(creator);
  const rows = await page.locator('table').first().locator('tr').allInnerTexts();
  assert.deepEqual(
    rows.slice(1).map((row) => row.split(/\s+/)),
    [
      ['North', '20'],
      ['South', '70'],
    ],
  );
  await page.getByText('Too few answers to tell anything of: Far away').waitFor();
  assert(!(await page.locator('main').innerText()).includes('99'));
  await creator.isAccessible();
  await creator.picture('result-groups');
});

test('choices are counted by their names', AT_NIGHT, async ({ browser, committee }) => {
  const creator = await Visitor.arrive(browser, DESKTOP);
  await creator.open(`${committee}/#/ask`);
  const { page } = creator;
  const link = await ask(creator, async () => {
    await page.getByLabel('What do you ask?').fill('Where do we meet?');
    await page.getByLabel('One of several choices').check();
    await page.getByLabel('The choices, one on each line').fill('Park\nHarbour\nLibrary');
    await page.getByLabel('The three that most chose').check();
    await creator.isAccessible();
  });
  for (const choice of ['Harbour', 'Park', 'Harbour']) {
    const reporter = await Visitor.arrive(browser, PHONE);
    await reporter.open(link);
    await reporter.page.getByLabel(choice).check();
    if (choice === 'Park') {
      await reporter.isAccessible();
      await reporter.picture('answering-choice');
    }
    await reporter.page.getByRole('button', { name: 'Send' }).click();
    await reporter.page.getByText('Your answer is in').waitFor();
    await reporter.leave();
  }
  await close(creator);
  const rows = await page.locator('table').first().locator('tbody tr').allInnerTexts();
  assert.deepEqual(
    rows.map((row) => row.split(/\s+/)),
    [
      ['Park', '1'],
      ['Harbour', '2'],
      ['Library', '0'],
    ],
  );
  await creator.isAccessible();
  await creator.picture('result-choices');
});
