// A host on the host's page.

import { readFile } from 'node:fs/promises';

import { DESKTOP, Visitor } from './visitor.mjs';

export const BEAMER = { viewport: { width: 1920, height: 1080 } };

/** The projector's address of a room. @param {string} link */
export const projectorOf = (link) => link.replace('#/room/', '#/projector/');

/**
 * Two people whose places two different servers give.
 * @param {import('@playwright/test').Browser} browser
 * @param {[string, string]} links
 * @returns {Promise<[Visitor, Visitor]>}
 */
export async function twoPeople(browser, [first, second]) {
  const [anna, ben] = [await Visitor.arrive(browser), await Visitor.arrive(browser)];
  await anna.join(first);
  await anna.takesPart();
  await ben.join(second);
  await ben.takesPart();
  return [anna, ben];
}

export class HostPage extends Visitor {
  /**
   * @param {import('@playwright/test').Browser} browser
   * @param {import('@playwright/test').BrowserContextOptions} [options]
   */
  static async come(browser, options = DESKTOP) {
    const { page } = await Visitor.arrive(browser, options);
    return new HostPage(page);
  }

  /**
   * Opens a room, as small and quick as the ones that the servers have prepared for.
   * @param {string} origin
   * @param {string} name
   * @param {string} kind
   * @param {{ moderated?: boolean, seconds?: number, minimum?: number }} [wishes]
   */
  async opens(origin, name, kind, { moderated = false, seconds = 1, minimum = 1 } = {}) {
    const { page } = this;
    await this.open(`${origin}/#/create`);
    await page.getByText(kind).click();
    // What is missing is named until it is there.
    await page.getByRole('button', { name: 'Open the room' }).click();
    const complaint = page.getByRole('alert').getByText('The room has no name yet');
    await complaint.waitFor();
    await page.getByLabel('Name of the room').fill(name);
    await complaint.waitFor({ state: 'detached' });
    await page.getByText('Change the settings').click();
    const settings = {
      'Longest message': '254',
      'Length of an epoch': `${seconds}`,
      'Places in an epoch': '64',
      'Least number': `${minimum}`,
    };
    for (const [label, value] of Object.entries(settings)) await page.getByLabel(label).fill(value);
    if (moderated) await page.getByLabel('The projector shows approved messages only').check();
    await page.getByRole('button', { name: 'Open the room' }).click();
    await page.getByRole('heading', { level: 1, name: `“${name}” is open` }).waitFor();
    const text = (/** @type {string} */ label) =>
      page.getByLabel(label, { exact: true }).inputValue();
    return { link: await text('Link to the room'), hostLink: await text('Host link') };
  }

  /** @param {string} name */
  async tab(name) {
    await this.page.getByRole('tab', { name }).click();
  }

  /** @param {string} text */
  row(text) {
    return this.page.locator('[data-row]').filter({ hasText: text });
  }

  /**
   * Uses one of a message's buttons and waits until it is done.
   * @param {string} text
   * @param {string} tool
   */
  async marks(text, tool) {
    await this.row(text).getByRole('button', { name: tool }).click();
    await this.row(text).locator('[aria-pressed="true"]', { hasText: tool }).waitFor();
  }

  /** Fills a question in. @param {string} question @param {string[]} options */
  async fills(question, options) {
    const { page } = this;
    await page.getByLabel('Question', { exact: true }).fill(question);
    for (const [index, option] of options.entries()) {
      if (index > 1) await page.getByRole('button', { name: 'Add an answer' }).click();
      await page.getByLabel(`Answer ${index + 1}`, { exact: true }).fill(option);
    }
    await page.getByLabel('Time to answer').selectOption({ index: 0 });
  }

  /**
   * Waits until the host sees that an epoch collects. What is asked before may be asked for that
   * one, in which others have handed in already.
   *
   * @param {number} epoch
   */
  async seesEpoch(epoch) {
    await this.page.locator(`[data-epoch="${epoch}"]`).waitFor();
  }

  /** @param {string} question @param {string[]} options */
  async asks(question, options) {
    const { page } = this;
    await this.tab('Polls');
    await this.fills(question, options);
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.locator('[data-poll]').filter({ hasText: question }).waitFor();
  }

  /** Presses what saves a file and returns what is in it. @param {string} button */
  async saves(button) {
    const [download] = await Promise.all([
      this.page.waitForEvent('download'),
      this.page.getByText(button, { exact: true }).click(),
    ]);
    return readFile(await download.path(), 'utf8');
  }
}
