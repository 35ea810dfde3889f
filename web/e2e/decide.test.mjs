// People decide together: everybody comes once, and nothing but the result comes out.

import { strict as assert } from 'node:assert';

import { Decider, inTime } from './support/decider.mjs';
import { Inbox } from './support/inbox.mjs';
import { AT_NIGHT } from './support/night.mjs';
import { test } from './support/test.mjs';
import { PHONE } from './support/visitor.mjs';

/** @typedef {import('./support/deployment.mjs').Deployment} Deployment */

test('three people decide: two visits at once, a reload in between, and everybody sees and rechecks the result', async ({
  browser,
  deployment,
}) => {
  const [anna, ben, carla] = [
    await Decider.come(browser),
    await Decider.come(browser, PHONE),
    await Decider.come(browser),
  ];
  await anna.open(`${deployment.origin()}/#/decide`);
  await anna.page.getByRole('heading', { name: 'Decide together' }).waitFor();
  await anna.isPresentable('create');
  const links = await anna.makes(deployment.origin(), {
    question: 'Shall we hire Ada?',
    me: 'Anna',
    others: ['Ben', 'Carla'],
  });
  await anna.isPresentable('creator');

  await ben.open(links['Ben'] ?? '');
  await ben.page.getByRole('heading', { name: 'Ben, you are asked to decide' }).waitFor();
  await ben.isPresentable('accept-phone');
  await ben.accepts(links['Ben'] ?? '');
  await ben.page.getByText('Carla has not accepted yet. When everybody has').waitFor();
  assert.ok(
    !ben.page.url().includes((links['Ben'] ?? '').split('/').at(-1) ?? '-'),
    'the invitation is gone from the address',
  );
  await carla.accepts((links['Carla'] ?? '').replace(deployment.origin(0), deployment.origin(1)));

  await anna.answers('Yes');
  await anna.hasAnswered();
  await anna.page.locator('[data-receipt]').waitFor();
  await anna.isPresentable('answered');
  assert.match(await anna.saves('Save the receipt'), /"digest"/);
  await anna.page.reload();
  await anna.at('answered');

  await ben.at('answer');
  await ben.isPresentable('answer-phone');
  assert.equal(
    await ben.page.getByRole('radio', { checked: true }).count(),
    0,
    'nothing is chosen beforehand',
  );
  await carla.at('answer');
  await carla.isPresentable('answer');
  await Promise.all([ben.answers('Yes'), carla.answers('No')]);
  await Promise.all([ben.hasAnswered(), carla.hasAnswered()]);
  for (const person of [anna, ben, carla])
    assert.match(await person.result(), /Passed.*Nobody stayed away/);

  await carla.page.getByRole('button', { name: 'Check everything again' }).click();
  await carla.page.getByText('Everything holds').waitFor();
  await anna.page.getByText('1 person has rechecked everything').waitFor();
  assert.match(await anna.saves('Save the records'), /"records"/);
  await anna.isPresentable('result');
  await ben.isPresentable('result-phone');
});

test('links go out by e-mail, one to each, and what became of them is shown', async ({
  browser,
  starts,
}) => {
  const inbox = await Inbox.open();
  const deployment = await starts({ smtp: inbox.url });
  const [anna, ben] = [await Decider.come(browser), await Decider.come(browser, PHONE)];
  const table = 'Name;E-mail\r\nBen;ben@example.org\r\nCarla;nobody@example.org\r\n';
  await anna.makes(deployment.origin(), { question: 'When shall we meet?', me: 'Anna', table });
  await anna.page.getByRole('button', { name: 'Send 2 links by e-mail' }).click();
  const [guestBen, guestCarla] = [anna.guest('Ben'), anna.guest('Carla')];
  await guestBen.getByText('Sent: the mail server has taken it.').waitFor();
  await guestCarla.getByText('the mail server does not take the message').waitFor();
  await anna.isPresentable('mail');
  await guestCarla.getByLabel('E-mail address of Carla').fill('carla@example.org');
  await guestCarla.getByRole('button', { name: 'Send the link' }).click();
  await guestCarla.getByText('Sent: the mail server has taken it.').waitFor();
  await anna.page.reload();
  await guestBen.getByText('Sent: the mail server has taken it.').waitFor();
  assert.equal(
    await guestCarla.getByLabel('E-mail address of Carla').inputValue(),
    'carla@example.org',
  );

  const letter = await inbox.letter('ben@example.org');
  assert.match(
    letter.text,
    /^Hello Ben,\s+Anna asks for your answer to this question:\s+> When shall we meet\?/,
  );
  await ben.accepts(letter.link);
  const carla = await Decider.come(browser);
  await carla.accepts((await inbox.letter('carla@example.org')).link);
  assert.equal(inbox.letters.length, 2, 'one message to each');
  await inbox.close();
});

test('a date is found although somebody stays away, everybody rechecks it, and it goes into the calendar', async ({
  browser,
  deployment,
}) => {
  const dates = [new Date(Date.UTC(2027, 4, 3, 16)), new Date(Date.UTC(2027, 4, 4, 16))];
  const [anna, ben] = await inTime(browser, async (deadline, anna, ben) => {
    const [carla, dora] = [await Decider.come(browser), await Decider.come(browser)];
    const links = await anna.makes(deployment.origin(), {
      question: 'When shall we meet?',
      me: 'Anna',
      others: ['Ben', 'Carla', 'Dora'],
      dates,
      deadline,
    });
    await ben.accepts(links['Ben'] ?? '');
    await dora.accepts(links['Dora'] ?? '');
    await carla.accepts(links['Carla'] ?? '');
    await carla.leave();
    await dora.answers('Possible', 'Possible');
    await dora.hasAnswered();
    await anna.answers('Possible', 'Possible');
    await anna.hasAnswered();
    await ben.answers('Not possible', 'Possible');
    await ben.hasAnswered();
    return /** @type {const} */ ([anna, ben]);
  });

  const result = await ben.result();
  assert.match(result, /4 May 2027.*suits best/);
  assert.match(result, /Carla stayed away/);
  assert.match(await anna.result(), /4 May 2027.*suits best/);
  assert.match(await ben.saves('Put it into the calendar'), /DTSTART:20270504T160000Z\r\n/);
  for (const [person, count] of /** @type {const} */ ([
    [anna, '1 person has'],
    [ben, '2 people have'],
  ])) {
    await person.page.getByRole('button', { name: 'Check everything again' }).click();
    await person.page.getByText('Everything holds').waitFor();
    await person.page.getByText(`${count} rechecked everything`).waitFor();
  }
  await ben.isPresentable('dates-phone');
});

/**
 * Changes what some servers say of the records.
 * @param {Deployment} deployment
 * @param {Decider} visitor
 * @param {number[]} parties
 */
async function forge(deployment, visitor, parties) {
  for (const party of parties) {
    await visitor.page.route(
      `${deployment.origin(party)}/api/v1/decisions/*/records?*`,
      async (route) => {
        const response = await route.fetch().catch(() => null);
        if (!response) return route.abort();
        const page = await response.json();
        const altered = (/** @type {string} */ record) =>
          `${record.slice(0, 200)}${record[200] === 'A' ? 'B' : 'A'}${record.slice(201)}`;
        await route.fulfill({ response, json: { ...page, records: page.records.map(altered) } });
      },
    );
  }
}

test('a server that alters a record is named, and what the others show is gone on with; where all do, nothing goes on', async ({
  browser,
  deployment,
}) => {
  const [anna, ben] = [await Decider.come(browser), await Decider.come(browser)];
  const links = await anna.makes(deployment.origin(), {
    question: 'Shall we sail?',
    me: 'Anna',
    others: ['Ben'],
  });
  await forge(deployment, ben, [0, 1, 2]);
  await ben.open(links['Ben'] ?? '');
  const refusal = ben.page.getByRole('alert').filter({ hasText: 'Do not answer' });
  await refusal.waitFor();
  await ben.isPresentable('refused');
  await ben.page.unrouteAll({ behavior: 'ignoreErrors' });
  await forge(deployment, ben, [0]);
  await ben.page.getByRole('button', { name: 'Try again' }).click();
  await ben.page
    .getByRole('heading', { name: 'The server “alpha” showed something that does not hold' })
    .waitFor();
  await ben.isPresentable('distrusted');
  await ben.page.getByRole('button', { name: 'Accept', exact: true }).click();
  await ben.at('answer');
});

test(
  'five days take few taps to offer and to answer, by touch and by keyboard',
  AT_NIGHT,
  async ({ browser, deployment }) => {
    const [anna, ben] = [await Decider.come(browser, PHONE), await Decider.come(browser)];
    await anna.open(`${deployment.origin()}/#/decide`);
    await anna.fills({ question: 'Which day?', me: 'Anna', others: ['Ben'] });
    await anna.page.getByText('A date', { exact: true }).click();
    await anna.page.getByText('Whole days', { exact: true }).click();
    const row = anna.page.getByRole('group', { name: 'Several days in a row' });
    await row.getByLabel('From').fill('2027-05-03');
    await row.getByLabel('To').fill('2027-05-07');
    await row.getByRole('button', { name: 'Add 5 days' }).click();
    assert.equal(await anna.page.getByLabel(/^Date \d$/).count(), 5);
    await anna.isPresentable('days-phone');
    await anna.page.getByRole('button', { name: 'Make the decision' }).click();
    const link = anna.page.getByRole('textbox', { name: 'Link for Ben' });
    await ben.accepts(await link.inputValue());

    // Two taps for what is possible, one for the rest.
    await anna.at('answer');
    const possible = anna.page.getByRole('radio', { name: 'Possible', exact: true });
    for (const day of [1, 3]) await possible.nth(day).check();
    await anna.page.getByRole('button', { name: 'The rest are not possible' }).click();
    await anna.page.getByText('All dates have an answer.').waitFor();
    await anna.isPresentable('grid-phone');
    await anna.page.getByRole('button', { name: 'Answer…' }).click();
    await anna.confirms('Give this answer');

    await ben.at('answer');
    await ben.isPresentable('grid');
    await ben.page.getByRole('button', { name: 'All are possible' }).focus();
    await ben.page.keyboard.press('Enter');
    // On to the first day, and there to the other answer.
    for (const key of ['Tab', 'Tab', 'ArrowRight']) await ben.page.keyboard.press(key);
    const first = ben.page.locator('form fieldset').first();
    assert.ok(await first.getByRole('radio', { name: 'Not possible' }).isChecked());
    await ben.page.getByRole('button', { name: 'Answer…' }).click();
    await ben.confirms('Give this answer');
    assert.match(
      await ben.result(),
      /2 dates suit equally well; the earliest is Tuesday,? 4 May 2027/,
    );
    assert.match(await ben.saves('Put it into the calendar'), /DTSTART;VALUE=DATE:20270504\r\n/);
  },
);
