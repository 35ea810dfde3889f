// People decide together: everybody comes once, and nothing but the result comes out.

import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';

import { Decider } from './decider.mjs';
import { start } from './deployment.mjs';
import { PHONE, launch } from './visitor.mjs';

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

const origin = (party = 0) => deployment.origins[party] ?? '';
/** @param {string} link @param {number} party */
const elsewhere = (link, party) => link.replace(origin(), origin(party));
/** @param {number} minutes */
const soon = (minutes) => new Date(Math.ceil(Date.now() / 60_000 + minutes) * 60_000);

test('three people decide: two visits at once, a reload in between, and everybody sees and rechecks the result', async () => {
  const [anna, ben, carla] = [await Decider.come(browser), await Decider.come(browser, PHONE), await Decider.come(browser, { colorScheme: 'dark' })];
  await anna.open(`${origin()}/#/decide`);
  await anna.page.getByRole('heading', { name: 'Decide together' }).waitFor();
  await anna.isAccessible();
  await anna.picture('decide-create');
  const links = await anna.makes(origin(), { question: 'Shall we hire Ada?', me: 'Anna', others: ['Ben', 'Carla'], token: deployment.token });
  await anna.isAccessible();
  await anna.picture('decide-creator');

  await ben.open(links['Ben'] ?? '');
  await ben.page.getByRole('heading', { name: 'Ben, you are asked to decide' }).waitFor({ timeout: 120_000 });
  await ben.isAccessible();
  await ben.fits();
  await ben.picture('decide-accept-phone');
  await ben.accepts(links['Ben'] ?? '');
  await ben.page.getByText('Carla has not accepted yet. When everybody has').waitFor();
  assert.ok(!ben.page.url().includes((links['Ben'] ?? '').split('/').at(-1) ?? '-'), 'the invitation is gone from the address');
  await carla.accepts(elsewhere(links['Carla'] ?? '', 1));

  await anna.answers('Yes');
  await anna.hasAnswered();
  await anna.page.locator('[data-receipt]').waitFor();
  await anna.picture('decide-answered');
  assert.match(await anna.saves('Save the receipt'), /"digest"/);
  await anna.page.reload();
  await anna.at('answered');

  await ben.at('answer');
  await ben.isAccessible();
  await ben.fits();
  await ben.picture('decide-answer-phone');
  assert.equal(await ben.page.getByRole('radio', { checked: true }).count(), 0, 'nothing is chosen beforehand');
  await carla.at('answer');
  await carla.isAccessible();
  await carla.picture('decide-answer-dark');
  await Promise.all([ben.answers('Yes'), carla.answers('No')]);
  await Promise.all([ben.hasAnswered(), carla.hasAnswered()]);
  for (const person of [anna, ben, carla]) assert.match(await person.result(), /Passed.*Nobody stayed away/);

  await carla.page.getByRole('button', { name: 'Check everything again' }).click();
  await carla.page.getByText('Everything holds').waitFor({ timeout: 120_000 });
  await anna.page.getByText('1 person has rechecked everything').waitFor({ timeout: 120_000 });
  assert.match(await anna.saves('Save the records'), /"records"/);
  await anna.isAccessible();
  await anna.picture('decide-result');
  await ben.fits();
  await ben.picture('decide-result-phone');
  await carla.picture('decide-result-dark');
  for (const person of [anna, ben, carla]) await person.leave();
});

// It waits for a deadline of a minute and a half.
const nightly = { skip: process.env['OSTRAKON_NIGHTLY'] === undefined && 'only with --nightly' };
test('a date is found although somebody stays away, and goes into the calendar', nightly, async () => {
  const [anna, ben, carla] = [await Decider.come(browser), await Decider.come(browser), await Decider.come(browser)];
  const dates = [new Date(Date.UTC(2027, 4, 3, 16)), new Date(Date.UTC(2027, 4, 4, 16))];
  const wish = { question: 'When shall we meet?', me: 'Anna', others: ['Ben', 'Carla'], token: deployment.token, dates, rule: 'The full count', deadline: soon(1.5) };
  const links = await anna.makes(origin(), wish);
  await ben.accepts(links['Ben'] ?? '');
  await carla.accepts(links['Carla'] ?? '');
  await carla.leave();
  await anna.answers('Possible', 'Possible');
  await anna.hasAnswered();
  await ben.answers('Not possible', 'Possible');
  const result = await ben.result();
  assert.match(result, /4 May 2027.*suits best/);
  assert.match(result, /Carla stayed away/);
  const file = await ben.saves('Put it into the calendar');
  assert.match(file, /DTSTART:20270504T160000Z\r\n/);
  await ben.isAccessible();
  await ben.picture('decide-dates');
  for (const person of [anna, ben]) await person.leave();
});

/** Changes what some servers say of the records. @param {Decider} visitor @param {number[]} parties */
async function forge(visitor, parties) {
  for (const party of parties) {
    await visitor.page.route(`${origin(party)}/api/v1/decisions/*/records?*`, async (route) => {
      const response = await route.fetch().catch(() => null);
      if (!response) return route.abort();
      const page = await response.json();
      const altered = (/** @type {string} */ record) => `${record.slice(0, 200)}${record[200] === 'A' ? 'B' : 'A'}${record.slice(201)}`;
      await route.fulfill({ response, json: { ...page, records: page.records.map(altered) } });
    });
  }
}

test('a server that alters a record is named, and what the others show is gone on with; where all do, nothing goes on', async () => {
  const [anna, ben] = [await Decider.come(browser), await Decider.come(browser)];
  const links = await anna.makes(origin(), { question: 'Shall we sail?', me: 'Anna', others: ['Ben'], token: deployment.token });
  await forge(ben, [0, 1, 2]);
  await ben.open(links['Ben'] ?? '');
  const refusal = ben.page.getByRole('alert').filter({ hasText: 'Do not answer' });
  await refusal.waitFor({ timeout: 120_000 });
  await ben.isAccessible();
  await ben.picture('decide-refused');
  await ben.page.unrouteAll({ behavior: 'ignoreErrors' });
  await forge(ben, [0]);
  await ben.page.getByRole('button', { name: 'Try again' }).click();
  await ben.page.getByText('A server showed something forged').waitFor({ timeout: 120_000 });
  await ben.page.getByRole('button', { name: 'Accept', exact: true }).click();
  await ben.at('answer');
  for (const person of [anna, ben]) await person.leave();
});
