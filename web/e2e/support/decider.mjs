// Somebody who decides together with others.

import { setTimeout as pause } from 'node:timers/promises';

import { DESKTOP, LIGHT, PHONE, Visitor } from './visitor.mjs';

/**
 * Milliseconds for what is to be done before a deadline, on a machine that has little else to do.
 */
const HASTE = 20_000;

/**
 * What a decision is to be.
 *
 * @typedef {object} Wish
 * @property {string} question
 * @property {string} me
 * @property {string[]} [others] names of people who are given a link
 * @property {string} [table] a table of people instead, as a file
 * @property {string[]} [known] names of people whose accounts are known
 * @property {Date} [deadline]
 * @property {Date[]} [dates]
 * @property {string} [rule]
 * @property {number[]} [outputs] of a table of one's own
 * @property {string} [stand] who stands in for who stays away
 */

export class Decider extends Visitor {
  /**
   * @param {import('@playwright/test').Browser} browser
   * @param {import('@playwright/test').BrowserContextOptions} [options]
   */
  static async come(browser, options = DESKTOP) {
    const context = await browser.newContext({ ...LIGHT, ...options });
    return new Decider(await context.newPage());
  }

  /**
   * Fills in the form and makes the decision.
   *
   * @param {string} origin
   * @param {Wish} wish
   * @returns {Promise<Record<string, string>>} a link for each of the others
   */
  async makes(origin, wish) {
    const { page } = this;
    const { others = [] } = wish;
    await this.open(`${origin}/#/decide`);
    await this.fills(wish);
    await page.getByRole('button', { name: 'Make the decision' }).click();
    await page.getByRole('heading', { name: 'You made this decision' }).waitFor();
    const link = (/** @type {string} */ name) =>
      page.getByRole('textbox', { name: `Link for ${name}` }).inputValue();
    return Object.fromEntries(
      await Promise.all(others.map(async (name) => [name, await link(name)])),
    );
  }

  /**
   * Fills in the form and makes one link for all.
   *
   * @param {string} origin
   * @param {Wish} wish
   * @returns {Promise<string>} the link
   */
  async gathers(origin, wish) {
    const { page } = this;
    await this.open(`${origin}/#/decide`);
    await this.fills(wish);
    await page.getByText('By one link for all').click();
    await page.getByRole('button', { name: 'Make the link' }).click();
    return page.getByRole('textbox', { name: 'Link for all' }).inputValue();
  }

  /** Asks to take part, where a join link was opened. @param {string} name */
  async asks(name) {
    await this.page.getByLabel('Your name').fill(name);
    await this.page.getByRole('button', { name: 'Ask to take part' }).click();
    await this.joins('asked');
  }

  /** Waits until a request stands like this. @param {string} state */
  async joins(state) {
    await this.page.locator(`[data-join="${state}"]`).waitFor();
  }

  /** Fills in the form. @param {Wish} wish */
  async fills({
    question,
    me,
    others = [],
    known = [],
    table,
    deadline,
    dates = [],
    rule,
    outputs = [],
    stand,
  }) {
    const { page } = this;
    if (dates.length > 0) await page.getByText('A date', { exact: true }).click();
    await page.getByLabel('Your question').fill(question);
    for (const [index, date] of dates.entries()) {
      if (index > 0) await page.getByRole('button', { name: 'Add the next day' }).click();
      await page.getByLabel(`Date ${index + 1}`, { exact: true }).fill(local(date));
    }
    await page.getByRole('textbox', { name: 'I decide, too, as' }).fill(me);
    if (table)
      await page
        .locator('input[type=file][accept*=csv]')
        .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(table) });
    else if (others.length > 0)
      await page.getByLabel('Names, one on each line').fill(others.join('\n'));
    for (const name of known) await page.getByRole('checkbox', { name, exact: true }).check();
    if (rule) await page.getByRole('radio', { name: rule }).check();
    for (const [row, output] of outputs.entries())
      await page.locator('table input').nth(row).fill(`${output}`);
    if (stand)
      await page
        .getByRole('group', { name: 'If somebody stays away' })
        .getByRole('radio', { name: stand })
        .check();
    if (deadline) await this.setsDeadline(deadline);
  }

  /** To the second: people have minutes, but tests have not. @param {Date} deadline */
  async setsDeadline(deadline) {
    const field = this.page.getByRole('textbox', { name: 'Deadline' });
    const accept = this.page.getByRole('textbox', { name: 'Accept by' });
    for (const one of [field, accept])
      await one.evaluate((input) => input.setAttribute('step', '1'));
    await field.fill(local(deadline, 19));
    // Everybody accepts before answers are given.
    await accept.fill(local(new Date(deadline.getTime() - 1_000), 19));
  }

  /** What the creator sees of somebody who has not accepted yet. @param {string} name */
  guest(name) {
    return this.page.locator(`[data-guest="${name}"]`);
  }

  /** Confirms what the open dialog asks. @param {string} yes */
  async confirms(yes) {
    await this.page.getByRole('dialog').getByRole('button', { name: yes, exact: true }).click();
  }

  /** Opens an invitation and accepts. @param {string} link */
  async accepts(link) {
    await this.open(link);
    await this.page.getByRole('button', { name: 'Accept', exact: true }).click();
    await this.at('waiting', 'answer');
  }

  /** Waits until the page is in one of these states. @param {string[]} states */
  async at(...states) {
    try {
      await this.page
        .locator(states.map((state) => `[data-decision="${state}"]`).join(', '))
        .waitFor();
    } catch (error) {
      throw new Error(`${error}; the page says: ${await this.page.locator('main').innerText()}`);
    }
  }

  /** Picks one answer for each ballot and confirms. @param {string[]} answers */
  async answers(...answers) {
    await this.at('answer');
    for (const [index, answer] of answers.entries()) {
      await this.page
        .locator('form fieldset')
        .nth(index)
        .getByRole('radio', { name: answer, exact: true })
        .check();
    }
    await this.page.getByRole('button', { name: 'Answer…' }).click();
    await this.page.getByRole('button', { name: 'Give this answer' }).click();
  }

  /**
   * What the page shows now can be read by everybody, in English by day and in German by night, and
   * lies within the window. Leaves pictures of both.
   *
   * @param {string} name
   */
  async isPresentable(name) {
    for (const [language, colorScheme] of /** @type {const} */ ([
      ['de', 'dark'],
      ['en', 'light'],
    ])) {
      await this.page.emulateMedia({ colorScheme });
      await this.page.locator('header select').selectOption(language);
      await this.isAccessible();
      await this.fits();
      await this.picture(`decide-${name}-${language}`);
    }
  }

  /** Waits until the receipt is shown or the decision is over. */
  async hasAnswered() {
    await this.at('answered', 'opening', 'result');
  }

  /** The result in words. */
  async result() {
    await this.at('result');
    return (await this.page.locator('[data-result]').innerText()).replaceAll(/\s+/g, ' ');
  }

  /** What a button gives as a file. @param {string} button */
  async saves(button) {
    const [download] = await Promise.all([
      this.page.waitForEvent('download'),
      this.page.getByRole('button', { name: button }).click(),
    ]);
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  }
}

/**
 * As the browser's field for a local point of time wants it: to the minute, or with 19 letters to
 * the second.
 * @param {Date} date
 */
function local(date, letters = 16) {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
    .toISOString()
    .slice(0, letters);
}

/**
 * Does what must be done before a deadline: on a slow machine again, with twice the time.
 *
 * @template T
 * @param {import('@playwright/test').Browser} browser
 * @param {(deadline: Date, anna: Decider, ben: Decider) => Promise<T>} act
 * @returns {Promise<T>}
 */
export async function inTime(browser, act) {
  for (let time = HASTE; ; time *= 2) {
    const [anna, ben] = [await Decider.come(browser), await Decider.come(browser, PHONE)];
    // Deadlines are given to the second.
    const deadline = new Date(Math.ceil((Date.now() + time) / 1000) * 1000);
    const late = new AbortController();
    const acting = act(deadline, anna, ben).then((value) => ({ value }));
    const over = pause(deadline.getTime() - Date.now(), null, { signal: late.signal });
    const done = await Promise.race([acting, over.catch(() => null)]);
    late.abort();
    if (done) return done.value;
    acting.catch(() => undefined);
    await Promise.all([anna.leave(), ben.leave()]);
  }
}
