// One server of three is hostile towards browsers: everything that it says passes through a
// saboteur.

import { strict as assert } from 'node:assert';

import { HostPage, projectorOf } from './support/host-page.mjs';
import { test } from './support/test.mjs';
import { DESKTOP, PHONE, Visitor } from './support/visitor.mjs';

/** @typedef {import('./support/deployment.mjs').Deployment} Deployment */

/**
 * Changes what the third server says, or others.
 *
 * @param {Deployment} deployment
 * @param {Visitor} visitor
 * @param {string} what the end of the path
 * @param {(answer: any) => unknown} lie
 * @param {number[]} [parties]
 */
async function sabotage(deployment, visitor, what, lie, parties = [2]) {
  for (const party of parties) {
    const place = `${deployment.origin(party)}/api/v1/rooms/*/${what}`;
    await visitor.page.route(place, async (route) => {
      const response = await route.fetch().catch(() => null);
      if (!response) return route.abort();
      const answer = await response.json().catch(() => ({}));
      await route.fulfill({ response, status: 200, json: lie(answer) });
    });
  }
}

/**
 * Two people on the way to a room.
 *
 * @param {import('@playwright/test').Browser} browser
 * @param {Deployment} deployment
 * @param {string} name
 */
async function pair(browser, deployment, name) {
  const links = await deployment.room(name);
  const visitors = [await Visitor.arrive(browser), await Visitor.arrive(browser)];
  return {
    links,
    visitors,
    anna: /** @type {Visitor} */ (visitors[0]),
    ben: /** @type {Visitor} */ (visitors[1]),
  };
}

/**
 * Both say something, and both read both once, in the same epochs.
 * @param {Awaited<ReturnType<typeof pair>>} people
 */
async function speakAndRead({ links, anna, ben }) {
  await anna.join(links[0] ?? '');
  await ben.join(links[1] ?? '');
  await Promise.all([anna.say('By land.'), ben.say('By sea.')]);
  const seen = await Promise.all(
    [anna, ben].map(async (visitor) => [
      (await visitor.reads('By land.')).epoch,
      (await visitor.reads('By sea.')).epoch,
    ]),
  );
  assert.deepEqual(seen[0], seen[1]);
}

test('a server that lies about how the room stands neither stops people nor shows them anything wrong', async ({
  browser,
  deployment,
}) => {
  const people = await pair(browser, deployment, 'Salamis');
  for (const visitor of people.visitors) {
    await sabotage(deployment, visitor, 'status*', (status) => ({
      ...status,
      epoch: { number: 1_000_000, phase: 'collecting', closes_in_ms: 1, assigned: 0, submitted: 0 },
      last: { number: 999_999, outcome: 'too-few', detail: '' },
      mixing: [],
      present: [0, 0, 0],
      places: [0, 0, 0],
      board_length: 1_000_000,
      actions: 7,
    }));
    await sabotage(deployment, visitor, 'board*', () => ({ entries: [] }));
    await sabotage(deployment, visitor, 'epochs/*/issue*', () => ({ issue: 'AAAA' }));
  }
  await speakAndRead(people);
  for (const visitor of people.visitors) {
    assert.equal(await visitor.page.locator('[data-own]').count(), 0);
  }
});

test('a server whose answers make no sense counts as one that does not answer', async ({
  browser,
  deployment,
}) => {
  const people = await pair(browser, deployment, 'Plataea');
  for (const visitor of people.visitors)
    await sabotage(deployment, visitor, 'status*', () => ['<html>', null, -1]);
  await speakAndRead(people);
  await people.anna.page.locator('[data-reachable="false"]').getByText('does not answer').waitFor();
});

test('whose word an epoch waits for is told where two servers say so, with what can be done', async ({
  browser,
  deployment,
}) => {
  const { host, links } = await deployment.hosted('Artemisium', { people: 3 });
  const [anna, console] = [await Visitor.arrive(browser, PHONE), await HostPage.come(browser)];
  const beamer = await Visitor.arrive(browser, { ...DESKTOP, locale: 'de-DE' });
  const says = (/** @type {any} */ status) => ({
    ...status,
    overdue: { for_ms: 95_000, by: [0] },
  });
  for (const visitor of [anna, console, beamer])
    await sabotage(deployment, visitor, 'status*', says, [2]);
  await anna.join(links[0]);
  await anna.takesPart();
  assert.equal(await anna.page.locator('[data-overdue]').count(), 0, 'one alone is not believed');
  for (const visitor of [anna, console, beamer])
    await sabotage(deployment, visitor, 'status*', says, [1, 2]);
  await anna.page.getByText('waiting for the word of alpha').waitFor();
  await anna.page.locator('[data-overdue="0"]').getByText('waited for there in turn').waitFor();
  await console.open(host.link(deployment.origin()));
  await console.page.getByText('waits for the word of alpha').waitFor();
  await console.page.locator('[data-overdue="0"]').getByText('ask whoever runs alpha').waitFor();
  await beamer.open(projectorOf(links[0]));
  await beamer.page.getByText('wartet auf das Wort von alpha; verloren ist nichts').waitFor();
  await beamer.page.getByText(/^nimmt teil, so sagen es die Server/).waitFor();
  // The same of one that nobody opens, of which each names the epoch's number.
  const unopened = (/** @type {any} */ status) => ({
    ...says(status),
    epoch: { ...status.epoch, phase: 'waiting-for-stock', batch: null, closes_in_ms: null },
  });
  for (const visitor of [anna, console, beamer])
    await sabotage(deployment, visitor, 'status*', unopened, [1, 2]);
  await anna.page.locator('[data-overdue="0"]').getByText('could have begun').waitFor();
  await console.page.locator('[data-overdue="0"]').getByText('could have begun').waitFor();
  await beamer.page.getByText('wartet auf das Wort von alpha; verloren ist nichts').waitFor();
  for (const [name, visitor] of Object.entries({ anna, console, beamer })) {
    await visitor.fits();
    await visitor.isAccessible();
    await visitor.picture(`overdue-${name}`);
  }
});

test('a host’s action that no host signed raises the alarm and changes nothing', async ({
  browser,
  deployment,
}) => {
  const people = await pair(browser, deployment, 'Mycale');
  const forged = {
    action: {
      number: 0,
      previous: '0'.repeat(64),
      author: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
      time: 1,
      deed: 'close',
    },
    signature: '0'.repeat(128),
  };
  await sabotage(deployment, people.anna, 'status*', (status) => ({ ...status, actions: 1 }));
  await sabotage(deployment, people.anna, 'actions*', () => ({ actions: [forged] }));
  await speakAndRead(people);
  await people.anna.page.getByRole('alert').getByText('A server showed something forged').waitFor();
  await people.anna.page
    .getByRole('alert')
    .getByText(/^What gamma showed does not hold/)
    .waitFor();
  assert.equal(await people.anna.page.getByText('This room is closed').count(), 0);
  await people.anna.isAccessible();
});
