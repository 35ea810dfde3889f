// What groups of several sizes see in real browsers, against three real servers, in rooms that the
// page's form makes for them: `cargo xtask stories [PEOPLE…]`. Prints a table for people to read.

import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

import { program, start } from '../support/deployment.mjs';
import { HostPage } from '../support/host-page.mjs';
import { DESKTOP, PHONE, Visitor, launch } from '../support/visitor.mjs';

const SIZES = [1, 2, 3, 5, 8, 30];
/** As many as a machine of two cores can show at once have a page; others use a terminal. */
const PAGES = 8;
/** Milliseconds within which people come, and between two messages of one of them. */
const [COMING, BETWEEN] = [10_000, 20_000];
/** Messages that each writes. */
const MESSAGES = 4;
/** Milliseconds for which those who are too few wait, and the longest that a message may take. */
const [ALONE, LONGEST] = [30_000, 120_000];
/** Milliseconds that terminals have to end: the last of them may be too few to be heard. */
const LEAVING = 10_000;

/** @typedef {import('@playwright/test').Browser} Browser */

/**
 * Makes a room as the form proposes it for so many people.
 *
 * @param {Browser} browser
 * @param {string} origin
 * @param {number} people
 */
async function opens(browser, origin, people) {
  const host = await HostPage.come(browser);
  await host.open(`${origin}/#/create`);
  await host.page.getByLabel('Name of the room').fill(`For ${people}`);
  const expected = host.page.getByLabel('How many people do you expect?');
  await expected.fill(`${people}`);
  const hint = await host.page.getByText(/^Messages appear from/).innerText();
  await host.page.getByRole('button', { name: 'Open the room' }).click();
  const link = await host.page.getByLabel('Link to the room', { exact: true }).inputValue();
  await host.leave();
  return { link, from: /from (.*?) on/.exec(hint)?.[1] ?? '' };
}

/**
 * Somebody comes, writes and waits for it on the own wall. Returns the milliseconds from sending to
 * the wall; `null` for what is not there in the end.
 *
 * @param {Visitor} person
 * @param {number} number
 * @param {boolean} few too few are there for anything to appear
 */
async function takesPart(person, number, few) {
  const waits = [];
  for (let message = 0; message < (few ? 1 : MESSAGES); message++) {
    // No text is a part of another's: it is looked for on the wall.
    const text = `${message} by ${number}.`;
    const sent = Date.now();
    await person.say(text);
    const entry = person.page.locator('[data-entry]').filter({ hasText: text });
    const there = entry.first().waitFor({ timeout: few ? ALONE : LONGEST });
    waits.push(
      await there.then(
        () => Date.now() - sent,
        () => null,
      ),
    );
    if (message + 1 < MESSAGES && !few) await pause(BETWEEN * (0.5 + Math.random()));
  }
  return waits;
}

/**
 * Says something from a terminal, and waits until it is on the board.
 *
 * @param {string} link
 * @param {string} text
 */
const says = (link, text) =>
  promisify(execFile)(program(), ['say', link, text], { timeout: LONGEST });

/**
 * @param {Browser} browser
 * @param {string[]} origins
 * @param {number} people
 */
async function tells(browser, origins, people) {
  const { link, from } = await opens(browser, origins[0] ?? '', people);
  const few = people < 3;
  const begun = Date.now();
  /** @type {number | null} */
  let first = null;
  let over = false;
  const home = (/** @type {number} */ number) =>
    link.replace(new URL(link).origin, origins[number % origins.length] ?? '');
  const stories = Array.from({ length: Math.min(people, PAGES) }, async (_, number) => {
    await pause(Math.random() * COMING);
    const person = await Visitor.arrive(browser, number % 2 === 0 ? PHONE : DESKTOP);
    // Many browsers on a busy machine take their time.
    person.page.setDefaultTimeout(LONGEST);
    await person.join(home(number));
    const published = person.page.locator('[data-entry]').first();
    void published.waitFor({ timeout: LONGEST }).then(
      () => (first ??= Date.now() - begun),
      () => undefined,
    );
    const waits = await takesPart(person, number, few);
    const seen = few ? await person.page.getByText(/more, then messages appear/).innerText() : '';
    return { person, waits, seen };
  });
  const others = Array.from({ length: people - stories.length }, async (_, number) => {
    await pause(Math.random() * COMING);
    while (!over) await says(home(number), `From terminal ${number}`);
  });
  const all = await Promise.all(stories);
  over = true;
  await Promise.all(all.map(({ person }) => person.leave()));
  await Promise.race([Promise.all(others), pause(LEAVING)]);
  const waits = all.flatMap((story) => story.waits);
  const done = waits.filter((wait) => wait !== null).sort((a, b) => a - b);
  return {
    people,
    from,
    first,
    done,
    missing: waits.length - done.length,
    seen: all[0]?.seen ?? '',
  };
}

const seconds = (/** @type {number | null | undefined} */ ms) =>
  ms === null || ms === undefined ? '–' : `${(ms / 1000).toFixed(1)} s`;

const asked = process.argv.slice(2).map(Number);
const deployment = await start();
const browser = await launch();
try {
  console.log('| people | messages appear from | first after | median | worst | missing | sees |');
  console.log('|---|---|---|---|---|---|---|');
  for (const people of asked.length > 0 ? asked : SIZES) {
    const story = await tells(browser, deployment.origins, people);
    const { done } = story;
    const [median, worst] = [done[Math.floor(done.length / 2)], done.at(-1)];
    const cells = [people, story.from, seconds(story.first), seconds(median), seconds(worst)];
    console.log(`| ${[...cells, story.missing, story.seen].join(' | ')} |`);
  }
} finally {
  await browser.close();
  await deployment.stop();
}
