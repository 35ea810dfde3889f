// Hosts in real browsers, against three real servers: from an empty page to a room that was led,
// shown and taken home.

import { strict as assert } from 'node:assert';

import { NOISE, QUESTION } from './support/deployment.mjs';
import { BEAMER, HostPage, projectorOf, twoPeople } from './support/host-page.mjs';
import { AT_NIGHT } from './support/night.mjs';
import { test } from './support/test.mjs';
import { DESKTOP, PHONE, Visitor } from './support/visitor.mjs';

/** @typedef {import('@playwright/test').Browser} Browser */

/**
 * Everything that a projector shows from a reload on, if the servers' lists of what hosts did come
 * a second late.
 * @param {Visitor} beamer
 */
async function shownAfterReload({ page }) {
  await page.route('**/actions?*', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await route.continue();
  });
  await page.addInitScript(() => {
    const texts = new Set();
    const look = () =>
      document
        .querySelectorAll('[data-shard] .text')
        .forEach((shard) => texts.add(shard.textContent));
    new MutationObserver(look).observe(document, {
      childList: true,
      subtree: true,
      characterData: true,
    });
    Object.assign(globalThis, { texts });
  });
  await page.reload();
  await page.locator('[data-shard]').first().waitFor();
  await page.unroute('**/actions?*');
  return page.evaluate(() => [.../** @type {any} */ (globalThis).texts]);
}

/**
 * Fewer people are there than have to be: everybody sees how many are missing, until the host
 * lowers the minimum, and whoever has come before agrees.
 * @param {Browser} browser
 * @param {HostPage} host
 * @param {string} link
 */
async function isLowered(browser, host, link) {
  const beamer = await Visitor.arrive(browser, BEAMER);
  await beamer.open(projectorOf(link));
  const [anna] = await twoPeople(browser, [link, link]);
  const missing = /2 of about 30 are here; 1 more, then messages appear/;
  await Promise.all(
    [host, beamer, anna].map((one) => one.page.getByText(missing).first().waitFor()),
  );
  for (const [name, one] of Object.entries({ host, beamer, anna }))
    await one.picture(`waiting-${name}`);
  await host.tab('Room');
  await host.page.locator('[data-ease="1"]').click();
  await host.page.getByRole('dialog').getByRole('button', { name: 'From 2 on' }).click();
  await anna.page.locator('[data-eased]').getByRole('button', { name: 'Agree' }).click();
  await anna.page.locator('[data-eased]').waitFor({ state: 'detached' });
  await anna.say('Before a small crowd');
  await beamer.page.locator('[data-shard]').filter({ hasText: 'a small crowd' }).waitFor();
}

test('a room is opened in the page, and its host link leads to the host’s page', async ({
  browser,
  deployment,
}) => {
  const host = await HostPage.come(browser);
  const { link, hostLink } = await host.opens(
    deployment.origin(),
    'Stoa',
    'Questions in a lecture',
    { minimum: 2 },
  );
  await host.isAccessible();
  await host.picture('opened-desktop-light');
  assert.equal(await host.page.locator('[data-qr]').getAttribute('data-qr'), link);
  assert.match(await host.page.locator('[data-code]').innerText(), /^[0-9A-Z]{4}-[0-9A-Z]{4}$/);
  assert.equal(await host.saves('Save as a file').then((text) => text.includes(hostLink)), true);
  await host.page.getByRole('link', { name: 'Go to the host’s page' }).click();
  await host.page.getByText('Nothing has been published yet').waitFor();
  const seed = hostLink.split('/').at(-1) ?? '';
  // The key is kept in this browser, and not shown to whoever sees the address.
  assert.ok(!host.page.url().includes(seed));
  await host.page.reload();
  await host.page.getByText('Nothing has been published yet').waitFor();
  const elsewhere = await HostPage.come(browser);
  await elsewhere.open(hostLink.replace(`/${seed}`, ''));
  await elsewhere.page.getByText('This browser does not keep your key for this room').waitFor();
  await elsewhere.isAccessible();
  // Where there is no address bar, the link is pasted on the start page.
  await elsewhere.open(`${deployment.origin()}/#/`);
  await elsewhere.page.getByLabel('Link or code of a room').fill(hostLink);
  await elsewhere.page.keyboard.press('Enter');
  await elsewhere.page.getByText('Nothing has been published yet').waitFor();
  assert.ok(!elsewhere.page.url().includes(seed));
  await elsewhere.page.getByText('What is said is erased after 30 days').click();
  await elsewhere.page.getByText('the servers erase what was published on').waitFor();
  // The key that is kept here is not forgotten without a question, on neither list.
  for (const [place, button] of /** @type {const} */ ([
    ['create', 'Forget “Stoa” here'],
    ['', 'Forget that you host “Stoa”'],
  ])) {
    await elsewhere.open(`${deployment.origin()}/#/${place}`);
    await elsewhere.page.getByRole('button', { name: button }).click();
    await elsewhere.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await elsewhere.page.getByRole('button', { name: button }).waitFor();
  }
  await elsewhere.isAccessible();
  await isLowered(browser, host, link);
});

test('what people say is moderated by keyboard, and the projector follows', async ({
  browser,
  deployment,
}) => {
  const { links, hostLink } = await deployment.spokenIn('Heliaia', [QUESTION, NOISE]);
  const [link] = links;
  const host = await HostPage.come(browser);
  await host.open(hostLink);
  const beamer = await Visitor.arrive(browser, BEAMER);
  await beamer.open(projectorOf(link));
  await beamer.page.locator('[data-shard]').filter({ hasText: NOISE }).waitFor();
  const anna = await Visitor.arrive(browser);
  await anna.open(link);
  await anna.page.getByText(NOISE).waitFor();

  await host.row(QUESTION).getByRole('button', { name: 'Answered' }).focus();
  await host.page.keyboard.press('p');
  await host.row(QUESTION).locator('[aria-pressed="true"]', { hasText: 'Pin' }).waitFor();
  await host.marks(NOISE, 'Hide');
  await beamer.page
    .locator('[data-shard]')
    .filter({ hasText: QUESTION })
    .getByText('pinned')
    .waitFor();
  await beamer.page.getByText('1 message hidden by the host').waitFor();
  assert.equal(await beamer.page.getByText(NOISE).count(), 0);
  await anna.page.getByText(NOISE).waitFor({ state: 'detached' });

  await host.row(QUESTION).getByRole('button', { name: 'Group' }).click();
  await host.page.getByLabel('Name of the group').fill('Courts');
  await host.page.getByRole('button', { name: 'Put into the group' }).click();
  await host.row(QUESTION).getByText('Courts').waitFor();
  await host.page.getByRole('button', { name: 'Hidden' }).click();
  assert.equal(await host.page.locator('[data-row]').count(), 1);
  await host.page.getByRole('button', { name: 'All' }).click();

  // Approved only: what nobody has looked at is not shown.
  await host.tab('Room');
  await host.page.getByLabel('The projector shows approved messages only').click();
  await beamer.page.locator('[data-shard]').waitFor({ state: 'detached' });
  await host.tab('Messages');
  await host.marks(QUESTION, 'Approve');
  await beamer.page.locator('[data-shard]').filter({ hasText: QUESTION }).waitFor();
  await Promise.all([host.isAccessible(), beamer.isAccessible()]);
  await Promise.all([host.picture('host-desktop-light'), beamer.picture('projector-wall-light')]);
  assert.deepEqual(
    await shownAfterReload(beamer),
    [QUESTION],
    'nothing is shown while it is not known what is hidden',
  );
  assert.deepEqual([...host.complaints, ...beamer.complaints], []);
});

/** Seconds of an epoch with a poll. It waits for twice as long: enough on a busy machine, too. */
const POLLED = 8;

test('a poll is asked, answered in one epoch, counted, shown and taken home', async ({
  browser,
  deployment,
}) => {
  const settings = { seconds: POLLED };
  const spoken = await deployment.spokenIn('Bouleuterion', [QUESTION, NOISE], settings);
  const [link] = spoken.links;
  const target = await spoken.host.target(QUESTION);
  await spoken.host.act({ group: { target, group: 'Courts' } });
  for (const deed of [{ pin: { target, pinned: true } }, { approve: { target, approved: true } }])
    await spoken.host.act(deed);
  const host = await HostPage.come(browser);
  await host.open(spoken.hostLink);
  const people = await twoPeople(browser, [link, link]);
  const beamer = await Visitor.arrive(browser, { ...BEAMER, colorScheme: 'dark' });
  await beamer.open(projectorOf(link));
  // The epoch waits until both have answered.
  const go = await people[1].staysOut();
  await host.seesEpoch(await people[1].missedEpoch());
  await host.asks('Which body decided on war?', ['The assembly', 'The council', 'The archons']);
  await beamer.page.getByText('Answer on your device').waitFor();
  await beamer.page.getByText(/Answers are sealed in \d+ seconds?/).waitFor();
  const answer = async (/** @type {Visitor} */ { page }) => {
    await page.getByLabel('The assembly').click();
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
  };
  await Promise.all(people.map(answer));
  await go();
  await host.picture('host-poll-desktop-light');
  const charts = [host, beamer].map(({ page }) => page.locator('[data-chart="2"]').first());
  await Promise.all(charts.map((chart) => chart.waitFor()));
  for (const chart of charts)
    assert.match(await chart.getByRole('row', { name: 'The assembly' }).innerText(), /2\s+100 %/);
  await Promise.all([host.isAccessible(), beamer.isAccessible()]);
  await Promise.all([
    host.picture('host-result-desktop-light'),
    beamer.picture('projector-result-dark'),
  ]);

  await host.tab('Room');
  assert.match(
    await host.saves('Messages (CSV)'),
    /"Why were judges drawn by lot\?",2,"Courts",(true|false),true,true,false,false/,
  );
  assert.match(
    await host.saves('Polls (CSV)'),
    /"Which body decided on war\?","one",\d+,false,2,"The assembly",2/,
  );
  // The report bears the digest of the board, which goes on with every epoch.
  const digests = () => host.page.locator('.report dd').allTextContents();
  const before = await digests();
  const whole = JSON.parse(await host.saves('Everything (JSON)'));
  assert.ok([...before, ...(await digests())].includes(whole.heads.board));
  assert.deepEqual(whole.polls[0].result.votes, [2, 0, 0]);
  await host.page.emulateMedia({ media: 'print' });
  await host.page.getByText('How to check this report').waitFor();
  await host.picture('report');
  await host.page.emulateMedia({ media: 'screen' });
});

test('people vote on messages in one epoch, and wall and projector follow', async ({
  browser,
  deployment,
}) => {
  const host = await HostPage.come(browser);
  const { link } = await host.opens(deployment.origin(), 'Theatron', 'Questions in a lecture', {
    seconds: POLLED,
  });
  await host.page.getByRole('link', { name: 'Go to the host’s page' }).click();
  const beamer = await Visitor.arrive(browser, BEAMER);
  await beamer.open(projectorOf(link));
  const people = await twoPeople(browser, [link, link]);
  const [bread, ships] = ['Who pays for the bread?', 'How many ships are left?'];
  await Promise.all([people[0].say(bread), people[1].say(ships)]);
  await Promise.all([host.row(bread).waitFor(), host.row(ships).waitFor()]);

  await host.page.getByRole('button', { name: 'Vote on these' }).click();
  await host.page.getByRole('dialog').getByLabel('Time to answer').selectOption({ index: 0 });
  await host.isAccessible();
  await host.picture('round-desktop-light');
  // The epoch waits until both have voted.
  const go = await people[1].staysOut();
  await host.seesEpoch(await people[1].missedEpoch());
  await host.page.getByRole('button', { name: 'Start the vote' }).click();
  const vote = async (/** @type {Visitor} */ { page }, /** @type {string[]} */ chosen) => {
    for (const text of chosen) await page.getByRole('checkbox', { name: text }).check();
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
  };
  await Promise.all(
    people.map((person, index) => vote(person, index === 0 ? [ships, bread] : [ships])),
  );
  await Promise.all([people[0].isAccessible(), people[0].picture('round-participant')]);
  await go();
  await host.row(ships).locator('[data-votes="2"]').waitFor();
  await host.row(bread).locator('[data-votes="1"]').waitFor();
  await beamer.page.locator('[data-shard]').first().getByText('2 votes').waitFor();
  await host.page.getByLabel('Order').selectOption('Most votes first');
  assert.match(await host.page.locator('[data-row]').first().innerText(), /ships/);
  const [anna] = people;
  await anna.page.getByLabel('Order').selectOption('Most votes first');
  assert.match(
    await anna.page.locator('[data-voted] li').first().innerText(),
    /ships are left\?\s+▲ 2 votes/,
  );
  await Promise.all([host.isAccessible(), beamer.isAccessible(), anna.isAccessible()]);
  await Promise.all([
    host.picture('votes-host-light'),
    beamer.picture('votes-projector-light'),
    anna.picture('votes-wall-light'),
  ]);

  await host.row(bread).getByRole('button', { name: 'Show alone' }).click();
  await beamer.page.locator('[data-alone]').getByText(bread).waitFor();
  assert.equal(await beamer.page.locator('[data-shard]').count(), 0);
  await beamer.isAccessible();
  await beamer.picture('spotlight-projector-light');
  await host.asks('Enough?', ['Yes', 'No']);
  await beamer.page.locator('[data-alone]').waitFor({ state: 'detached' });
  const complaints = [host, beamer, ...people].flatMap((visitor) => visitor.complaints);
  assert.deepEqual(complaints, []);
});

test(
  'a quiz and a ranking are prepared, asked, answered and shown',
  AT_NIGHT,
  async ({ browser, deployment }) => {
    const host = await HostPage.come(browser);
    const { link } = await host.opens(deployment.origin(), 'Odeion', 'Questions in a lecture');
    await host.page.getByRole('link', { name: 'Go to the host’s page' }).click();
    const beamer = await Visitor.arrive(browser, BEAMER);
    await beamer.open(projectorOf(link));
    await host.tab('Polls');
    await host.fills('Which ship returned?', ['Paralos', 'Salaminia']);
    await host.page.getByRole('button', { name: 'Keep for later' }).click();
    await host.page.getByLabel('An order', { exact: true }).check();
    await host.fills('What matters most?', ['Bread', 'Ships', 'Plays']);
    await host.page.getByRole('button', { name: 'Keep for later' }).click();
    const file = await host.saves('Save as a file');
    assert.deepEqual(
      JSON.parse(file).polls.map((/** @type {any} */ poll) => poll.kind),
      ['one', 'ranking'],
    );
    // People have seconds to answer, but tests have not.
    await host.page.evaluate(() => {
      for (const [name, text] of Object.entries(localStorage))
        if (text.includes('"seconds":15'))
          localStorage.setItem(name, text.replaceAll('"seconds":15', '"seconds":1'));
    });
    await host.page.reload();
    await host.tab('Polls');
    await host.page.getByRole('button', { name: 'Earlier' }).nth(1).click();
    const prepared = host.page.locator('[data-prepared]');
    await prepared.first().getByText('What matters most?').waitFor();
    await host.page.getByLabel('Add from a file').setInputFiles({
      name: 'polls.json',
      mimeType: 'application/json',
      buffer: Buffer.from('{}'),
    });
    await host.page.getByText('this is no file with prepared questions').waitFor();
    await host.isAccessible();
    await host.picture('prepared-desktop-light');
    // What is being changed stays prepared, and what was typed outlives a look at another part.
    await prepared.first().getByRole('button', { name: 'Change' }).click();
    await host.page.getByLabel('Question', { exact: true }).fill('What matters?');
    await host.tab('Messages');
    await host.tab('Polls');
    assert.equal(
      await host.page.getByLabel('Question', { exact: true }).inputValue(),
      'What matters?',
    );
    assert.equal(await prepared.count(), 2);
    await host.page.getByRole('button', { name: 'Leave it as it was' }).click();
    const people = await twoPeople(browser, [link, link]);
    // The epoch waits until both have answered.
    const go = await people[1].staysOut();
    await host.seesEpoch(await people[1].missedEpoch());
    for (const question of ['Which ship returned?', 'What matters most?']) {
      await prepared.filter({ hasText: question }).getByRole('button', { name: 'Ask now' }).click();
      await prepared.filter({ hasText: question }).waitFor({ state: 'detached' });
    }
    const answer = async (
      /** @type {Visitor} */ { page },
      /** @type {string} */ ship,
      /** @type {string[]} */ ranking,
    ) => {
      const [quiz, order] = /** @type {const} */ ([
        page.locator('[data-poll]').filter({ hasText: 'Which ship returned?' }),
        page.locator('[data-poll]').filter({ hasText: 'What matters most?' }),
      ]);
      await quiz.getByLabel(ship).check();
      await quiz.getByRole('button', { name: 'Answer', exact: true }).click();
      for (const option of ranking) await order.getByRole('button', { name: option }).click();
      await order.getByRole('button', { name: 'Answer', exact: true }).click();
    };
    await Promise.all(
      people.map((person, index) =>
        index === 0
          ? answer(person, 'Paralos', ['Plays', 'Bread'])
          : answer(person, 'Salaminia', ['Plays', 'Ships']),
      ),
    );
    const [anna, ben] = people;
    await anna.picture('quiz-participant');
    await go();
    const asked = host.page.locator('[data-poll]').filter({ hasText: 'Which ship returned?' });
    await asked.getByRole('button', { name: 'Show the right answer' }).click();
    await host.page.getByRole('dialog').getByLabel('Salaminia').check();
    await host.page.getByRole('button', { name: 'Show it to all' }).click();
    await asked.getByRole('row', { name: /Salaminia\s+right/ }).waitFor();
    await anna.page.getByText('It is not the right one.').waitFor();
    await ben.page.getByText('It is right.').waitFor();
    const ranking = host.page.locator('[data-poll]').filter({ hasText: 'What matters most?' });
    await ranking.locator('[data-chart="2"]').waitFor();
    assert.match(await ranking.getByRole('row').nth(1).innerText(), /Plays\s+4\s+100 %/);
    await Promise.all([host.isAccessible(), anna.isAccessible(), beamer.isAccessible()]);
    await Promise.all([
      host.picture('quiz-host-light'),
      anna.picture('quiz-result-participant'),
      beamer.picture('ranking-projector-light'),
    ]);
    const complaints = [host, beamer, ...people].flatMap((visitor) => visitor.complaints);
    assert.deepEqual(complaints, []);
  },
);

test('with invitation links, one link is one member, and nobody else takes part', async ({
  browser,
  deployment,
}) => {
  const host = await HostPage.come(browser);
  const { link } = await host.opens(deployment.origin(), 'Council', 'A vote', {
    moderated: true,
  });
  await host.page.getByRole('link', { name: 'Go to the host’s page' }).click();
  await host.tab('Room');
  // Said before anybody could write. What the page does not know yet it does not show as decided,
  // either way.
  await host.page
    .getByRole('checkbox', {
      name: 'The projector shows approved messages only',
      checked: true,
      disabled: false,
    })
    .waitFor();
  await host.tab('People');
  await host.page.getByLabel('How many').fill('2');
  await host.page.getByRole('button', { name: 'Make links' }).click();
  await host.page.locator('[data-invited="2"]').waitFor();
  const invitations = (await host.saves('Save as a list')).trim().split(/\r\n/);
  assert.equal(new Set(invitations).size, 2);
  await host.isAccessible();
  await host.picture('host-people-desktop-light');
  await host.page.emulateMedia({ media: 'print' });
  assert.deepEqual(
    await host.page
      .locator('.sheets [data-qr]')
      .evaluateAll((codes) => codes.map((code) => code.getAttribute('data-qr'))),
    invitations,
  );
  await host.picture('invitations');
  await twoPeople(browser, /** @type {[string, string]} */ (invitations));
  await host.page.emulateMedia({ media: 'screen' });
  await host.page.locator('[data-members="2"]').waitFor();
  await host.page.getByText('Invitation 2: used').waitFor();
  // The links are nowhere else: neither a link nor Back leaves them behind without a question.
  const here = host.page.url();
  for (const leave of [
    () => host.page.getByRole('link', { name: 'Leave the room' }).click(),
    () => host.page.goBack(),
  ]) {
    await leave();
    await host.page
      .getByRole('dialog')
      .getByText('2 invitation links are on this page and nowhere else')
      .waitFor();
    await host.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    assert.equal(host.page.url(), here);
    await host.page.locator('[data-invitations="2"]').waitFor();
  }
  const stranger = await Visitor.arrive(browser);
  await stranger.join(link);
  await stranger.page.locator('[data-apart="outside"]').waitFor();
});

test('a co-host moderates at the same time, and may not when removed', async ({
  browser,
  deployment,
}) => {
  const { hostLink } = await deployment.spokenIn('Tholos', [QUESTION, NOISE]);
  const host = await HostPage.come(browser, { ...PHONE, colorScheme: 'dark' });
  await host.open(hostLink);
  await host.tab('People');
  await host.page.getByLabel('Name of the co-host').fill('Beate');
  await host.page.getByRole('button', { name: 'Make a co-host link' }).click();
  const link = await host.page.getByLabel('Link for Beate', { exact: true }).inputValue();
  const beate = await HostPage.come(browser);
  await beate.open(link);
  await beate.page.getByText('You are co-host as “Beate”.').waitFor();
  await host.tab('Messages');
  await host.tab('People');
  await host.page.getByLabel('Link for Beate', { exact: true }).waitFor();
  await host.tab('Messages');
  // Both at once: one of the two is told that the other was first, and does it again by itself.
  await Promise.all([host.marks(QUESTION, 'Answered'), beate.marks(NOISE, 'Answered')]);
  await Promise.all(
    [host, beate].map(({ page }) => page.getByRole('button', { name: 'Answered 2' }).waitFor()),
  );
  for (const { page } of [host, beate])
    assert.equal(await page.getByText('A server showed something forged').count(), 0);
  await host.fits();
  await host.isAccessible();
  await host.picture('host-phone-dark');
  await host.tab('People');
  await host.page.getByRole('button', { name: 'Remove Beate' }).click();
  await host.page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await beate.page.getByText('is not a host of this room').waitFor();
  // The focus is not lost with the button.
  await host.focuses(host.page.locator('#hosts'));
  assert.equal(await beate.page.getByRole('button', { name: 'Pin', exact: true }).count(), 0);
  assert.deepEqual(
    host.complaints.filter((text) => !text.includes('status of 409')),
    [],
  );
});

test('on a phone a refusal is in sight wherever the host is, in the language of the page, and gives the focus back', async ({
  browser,
  agora,
}) => {
  const host = await HostPage.come(browser, PHONE);
  await host.open(agora.hostLink);
  await host.page.getByLabel('Language').selectOption('Deutsch');
  await host.page.route('**/actions', (route) => {
    const problem = {
      type: 'about:blank',
      title: 'Conflict',
      status: 422,
      detail: 'the room has as many actions as it can have',
    };
    return route.request().method() === 'POST'
      ? route.fulfill({ status: 422, json: problem })
      : route.continue();
  });
  const tool = host.row(QUESTION).locator('[data-tool="a"]');
  await tool.scrollIntoViewIfNeeded();
  await tool.click();
  const notice = host.page.locator('[data-failure="true"]');
  await notice.getByText('Das wurde nicht getan: es übersteigt, was ein Raum fasst.').waitFor();
  assert.ok(await host.sees(notice));
  await notice.getByText('Was genau gesagt wurde').click();
  await notice.getByText('as many actions as it can have').waitFor();
  await host.fits();
  await host.isAccessible();
  await host.picture('refusal-phone', { fullPage: false });
  await tool.focus();
  await notice.getByRole('button', { name: 'Hinweis schließen' }).focus();
  await host.page.keyboard.press('Enter');
  await notice.waitFor({ state: 'detached' });
  await host.focuses(tool);
});

for (const [device, options, colorScheme] of /** @type {const} */ ([
  ['desktop', DESKTOP, 'dark'],
  ['phone', PHONE, 'light'],
])) {
  test(`${device}, ${colorScheme}: every part fits and is accessible`, async ({
    browser,
    deployment,
    agora,
  }) => {
    const host = await HostPage.come(browser, { ...options, colorScheme });
    await host.open(`${deployment.origin(1)}/#/create`);
    await host.page.getByRole('button', { name: 'Open the room' }).click();
    await host.page.getByRole('alert').getByText('The room has no name yet').waitFor();
    await host.focuses(host.page.locator('#name'));
    await host.page.getByText('Change the settings').click();
    await host.fits();
    await host.isAccessible();
    await host.picture(`create-${device}-${colorScheme}`);
    await host.open(agora.hostLink);
    await host.row(QUESTION).waitFor();
    for (const tab of ['Polls', 'Share', 'People', 'Room']) {
      await host.tab(tab);
      await host.fits();
      await host.isAccessible();
      await host.picture(`host-${tab.toLowerCase()}-${device}-${colorScheme}`);
    }
    await host.open(projectorOf(agora.links[0]));
    await host.page.locator('[data-shard]').first().waitFor();
    await host.fits();
    await host.isAccessible();
    await host.picture(`projector-${device}-${colorScheme}`);
  });
}

test('a message is erased, the room is closed, and everything is deleted', async ({
  browser,
  deployment,
}) => {
  const { links, hostLink } = await deployment.spokenIn('Kolonos', [QUESTION, NOISE]);
  const anna = await Visitor.arrive(browser);
  await anna.join(links[0]);
  const host = await HostPage.come(browser);
  await host.open(hostLink);
  await host.tab('Messages');
  await host.row(NOISE).getByRole('button', { name: 'Erase' }).click();
  await host.page.getByRole('button', { name: 'Erase for ever' }).click();
  await host.page.getByText('Erased. Its fingerprint stays in the record.').waitFor();
  await host.tab('Room');
  await host.page.getByRole('button', { name: 'Close the room' }).click();
  await host.page.getByRole('dialog').getByRole('button', { name: 'Close the room' }).click();
  await host.page.getByText('The room is closed. It takes no more messages').waitFor();
  await anna.page.getByText('This room is closed.').first().waitFor();
  await host.page.getByRole('button', { name: 'Delete everything' }).click();
  await host.page.getByRole('dialog').getByRole('button', { name: 'Delete everything' }).click();
  await host.tab('Messages');
  await host.row(QUESTION).waitFor({ state: 'detached' });
  // Whoever opens the room now finds no text, and the chain still holds.
  const late = await Visitor.arrive(browser);
  await late.open(links[0]);
  await late.page.getByText('This room is closed.').first().waitFor();
  await late.page.locator('[data-entry] [data-erased]').first().waitFor();
  assert.equal(await late.page.getByText(QUESTION).count(), 0);
  assert.equal(await late.page.getByText('A server showed something forged').count(), 0);
  assert.deepEqual(late.complaints, []);
});
