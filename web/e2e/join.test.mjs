// One join link for all: whoever opens it asks by name, and only those whom the creator approves
// take part.

import { strict as assert } from 'node:assert';

import { Decider } from './support/decider.mjs';
import { test } from './support/test.mjs';
import { PHONE } from './support/visitor.mjs';

test('two people come in by one link, a third is refused, and the three decide', async ({
  browser,
  deployment,
}) => {
  const [anna, ben, other, eve] = [
    await Decider.come(browser),
    await Decider.come(browser, PHONE),
    await Decider.come(browser),
    await Decider.come(browser),
  ];
  await anna.open(`${deployment.origin()}/#/decide`);
  await anna.page.getByText('By one link for all').click();
  await anna.isPresentable('way');
  const link = await anna.gathers(deployment.origin(), { question: 'Shall we?', me: 'Anna' });
  await anna.isPresentable('join-host-empty');
  await anna.page.getByText('At least two people decide').waitFor();
  assert.ok(await anna.page.getByRole('button', { name: 'Begin with 1 person' }).isDisabled());

  await ben.open(link);
  await ben.page.getByRole('heading', { name: 'Shall we?' }).waitFor();
  await ben.isPresentable('join-new-phone');
  await ben.asks('Ben');
  await ben.isPresentable('join-asked-phone');
  // At another server, under the same name.
  await other.open(link.replace(deployment.origin(0), deployment.origin(1)));
  await other.asks('Ben');
  await eve.open(link);
  await eve.asks('Eve');
  await anna.page.getByText('3 people wait for you.').waitFor();
  await anna.isPresentable('join-host');

  await anna.page.getByRole('button', { name: /^Refuse Eve/ }).click();
  await eve.joins('refused');
  await eve.isPresentable('join-refused');
  for (const person of [ben, other]) {
    const digits = await person.page.locator('[data-digits]').innerText();
    await anna.page.getByRole('button', { name: `Approve Ben, ${digits}` }).click();
    await person.joins('admitted');
  }
  await ben.page.reload();
  await ben.joins('admitted');
  await anna.page.getByRole('button', { name: 'Begin with 3 people' }).waitFor();
  await anna.isPresentable('join-host-approved');
  await anna.page.getByRole('button', { name: 'Begin with 3 people' }).click();

  // Both pages lead on, and answers are taken at once: the devices have left keys.
  await Promise.all([anna.answers('Yes'), ben.answers('Yes'), other.answers('No')]);
  for (const person of [anna, ben, other])
    assert.match(await person.result(), /Passed.*Nobody stayed away/);
  const names = await ben.page.locator('main').innerText();
  assert.match(names, /Ben \(\d{4} \d{4}\)/, 'two of one name are told apart');
  assert.doesNotMatch(names, /Eve/);
  await eve.page.reload();
  await eve.joins('refused');
  const late = await Decider.come(browser);
  await late.open(link);
  await late.joins('without');
});
