// Somebody who decides together with others.

import { Visitor } from './visitor.mjs';

/** How long proofs, agreement among the servers and openings may take on a busy machine. */
const PATIENCE = 120_000;

export class Decider extends Visitor {
  /**
   * @param {import('playwright-core').Browser} browser
   * @param {import('playwright-core').BrowserContextOptions} [options]
   */
  static async come(browser, options = { viewport: { width: 1280, height: 900 } }) {
    const context = await browser.newContext({ acceptDownloads: true, ...options });
    return new Decider(await context.newPage());
  }

  /**
   * Fills in the form and makes the decision.
   *
   * @param {string} origin
   * @param {{ question: string, me: string, others: string[], token: string, deadline?: Date, dates?: Date[], rule?: string }} wish
   * @returns {Promise<Record<string, string>>} a link for each of the others
   */
  async makes(origin, { question, me, others, token, deadline, dates = [], rule }) {
    const { page } = this;
    await this.open(`${origin}/#/decide`);
    if (dates.length > 0) await page.getByText('A date', { exact: true }).click();
    await page.getByLabel('Your question').fill(question);
    for (const [index, date] of dates.entries()) {
      if (index > 0) await page.getByRole('button', { name: 'Add a date' }).click();
      await page.getByLabel(`Date ${index + 1}`, { exact: true }).fill(local(date));
    }
    if (rule) await page.getByRole('radio', { name: rule }).check();
    await page.getByRole('textbox', { name: 'I decide, too, as' }).fill(me);
    await page.getByLabel('Names, one on each line').fill(others.join('\n'));
    if (deadline) await page.getByRole('textbox', { name: 'Deadline' }).fill(local(deadline));
    const code = page.locator('input[type=password]');
    if (await code.count()) await code.fill(token);
    await page.getByRole('button', { name: 'Make the decision' }).click();
    await page.getByRole('heading', { name: 'You made this decision' }).waitFor({ timeout: PATIENCE });
    const link = (/** @type {string} */ name) => page.getByRole('textbox', { name: `Link for ${name}` }).inputValue();
    return Object.fromEntries(await Promise.all(others.map(async (name) => [name, await link(name)])));
  }

  /** Opens an invitation and accepts. @param {string} link */
  async accepts(link) {
    await this.open(link);
    await this.page.getByRole('button', { name: 'Accept', exact: true }).click({ timeout: PATIENCE });
    await this.at('waiting', 'answer');
  }

  /** Waits until the page is in one of these states. @param {string[]} states */
  async at(...states) {
    await this.page.locator(states.map((state) => `[data-decision="${state}"]`).join(', ')).waitFor({ timeout: PATIENCE });
  }

  /** Picks one answer for each ballot and confirms. @param {string[]} answers */
  async answers(...answers) {
    await this.at('answer');
    for (const [index, answer] of answers.entries()) {
      await this.page.locator('form fieldset').nth(index).getByRole('radio', { name: answer, exact: true }).check();
    }
    await this.page.getByRole('button', { name: 'Answer…' }).click();
    await this.page.getByRole('button', { name: 'Give this answer' }).click();
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
    const [download] = await Promise.all([this.page.waitForEvent('download'), this.page.getByRole('button', { name: button }).click()]);
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  }
}

/** As the browser's field for a local point of time wants it. @param {Date} date */
function local(date) {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
