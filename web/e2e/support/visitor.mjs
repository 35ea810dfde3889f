// A person with a browser.

import { strict as assert } from 'node:assert';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { chromium } from '@playwright/test';

import { NIGHTLY } from './night.mjs';

const pictures = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../screenshots');
const axeSource = await readFile(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);

/** @typedef {import('@playwright/test').Browser} Browser */
/** @typedef {import('@playwright/test').Page} Page */

/**
 * A visit that costs little: nothing moves, the page is not kept on the device, and servers need
 * not compress it. Tests that are about one of these wish otherwise.
 */
export const LIGHT = /** @type {const} */ ({
  reducedMotion: 'reduce',
  serviceWorkers: 'block',
  extraHTTPHeaders: { 'accept-encoding': 'identity' },
});
export const PHONE = { viewport: { width: 360, height: 780 }, isMobile: true, hasTouch: true };
export const DESKTOP = { viewport: { width: 1280, height: 900 } };

/** Pictures prove nothing, and cost more time than what they show. */
const PICTURES = NIGHTLY || Boolean(process.env.OSTRAKON_PICTURES);

const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** The same browser without a window's frame and menus, which need most of its time. */
const shell = `${chromiumPath}-headless-shell`;

/** How a browser is started. */
export const CHROMIUM = {
  executablePath: existsSync(shell) ? shell : chromiumPath,
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
};

/** @returns {Promise<Browser>} */
export const launch = () => chromium.launch(CHROMIUM);

/** One browser profile with one open page, what it complained about, and what it asked for. */
export class Visitor {
  /** @type {string[]} */
  complaints = [];
  /** @type {import('@playwright/test').Request[] | undefined} */
  #requests;
  /** @type {(epoch: number) => void} */
  #missed = () => {};
  /** @type {Promise<number>} */
  #missing = new Promise((resolve) => {
    this.#missed = resolve;
  });

  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('console', (message) => {
      // A slot that is not there yet, or of which this server has not heard yet, is answered with
      // 404, one of an epoch that is just being closed with 409, and one whose batch is being
      // loaded with 503, which the browser notes; the page comes again. So it does to a room of
      // which this server has not heard yet.
      const { url } = message.location();
      const expected =
        (/status of (404|409|503)/.test(message.text()) && /\/(issue\?|submission$)/.test(url)) ||
        (/status of 404/.test(message.text()) && /\/rooms\/[0-9a-f]{32}$/.test(url));
      if (message.type() === 'error' && !expected) this.complaints.push(`${message.text()} ${url}`);
    });
  }

  /** Notes what the page asks for from now on: it costs too much where nobody looks at it. */
  notesRequests() {
    const requests = (this.#requests = /** @type {import('@playwright/test').Request[]} */ ([]));
    this.page.on('request', (request) => requests.push(request));
    return this;
  }

  /** What the page has asked for since it was to be noted. */
  get requests() {
    assert.ok(this.#requests, 'nobody has noted them');
    return this.#requests;
  }

  /**
   * @param {Browser} browser
   * @param {import('@playwright/test').BrowserContextOptions} [options]
   */
  static async arrive(browser, options = DESKTOP) {
    const context = await browser.newContext({ ...LIGHT, ...options });
    return new Visitor(await context.newPage());
  }

  /** Another tab of the same profile. */
  async secondTab() {
    return new Visitor(await this.page.context().newPage());
  }

  async leave() {
    // An answer that a test would have changed may be under way.
    await this.page.unrouteAll({ behavior: 'ignoreErrors' });
    await this.page.context().close();
  }

  /** @param {string} link */
  async open(link) {
    await this.page.goto(link);
  }

  /** Follows a link and decides to take part. @param {string} link */
  async join(link) {
    await this.open(link);
    await this.page.getByRole('button', { name: 'Take part', exact: true }).click();
  }

  /** Waits until this visitor has handed something in. */
  async takesPart() {
    await this.page.locator('[data-part="handed-in"]').waitFor();
  }

  /**
   * Keeps this visitor out of every further epoch. A room for two then waits for company: its
   * epoch stays open, however long others take for what they do in it.
   *
   * @returns {Promise<() => Promise<void>>} lets the visitor take part again
   */
  async staysOut() {
    const missing = async (/** @type {import('@playwright/test').Route} */ route) => {
      // While it has a place already, this is refused material of the epoch that it is in.
      const places = this.page.locator('[data-part="waiting"], [data-part="looking"]').count();
      const epoch = /\/epochs\/(\d+)\//.exec(route.request().url())?.[1];
      await route.fulfill({ status: 404, json: {} });
      if ((await places.catch(() => 0)) > 0) this.#missed(Number(epoch));
    };
    await this.page.route('**/issue?*', missing);
    return () => this.page.unroute('**/issue?*', missing);
  }

  /** The number of the first epoch in which this visitor, who stays out, has no place. */
  missedEpoch() {
    return this.#missing;
  }

  /** @param {string} text */
  async say(text) {
    await this.page.getByLabel('Your message').fill(text);
    await this.page.getByRole('button', { name: 'Send without a name' }).click();
  }

  /**
   * Waits until a message is on the wall.
   *
   * @param {string} text
   * @returns {Promise<{ epoch: number, header: string }>} its epoch and what is said of that
   */
  async reads(text) {
    const entry = this.page.locator('[data-entry]').filter({ hasText: text });
    await entry.first().waitFor();
    assert.equal(await entry.count(), 1, `"${text}" is on the wall more than once`);
    const header = (await entry.locator('header').innerText()).replaceAll(/\s+/g, ' ');
    return { epoch: Number(await entry.getAttribute('data-entry')), header };
  }

  /**
   * Waits until the focus is where it belongs.
   * @param {import('@playwright/test').Locator} thing
   */
  async focuses(thing) {
    await thing.and(this.page.locator(':focus')).waitFor({ state: 'attached' });
  }

  /** Waits until what moves on the page has come to rest; what never does is left alone. */
  async rests() {
    await this.page.evaluate(async () => {
      for (let rounds = 0; rounds < 5; rounds++) {
        const moving = document
          .getAnimations()
          .filter(
            (one) =>
              one.playState === 'running' &&
              Number.isFinite(one.effect?.getComputedTiming().endTime),
          );
        if (moving.length === 0) return;
        await Promise.allSettled(moving.map((one) => one.finished));
      }
    });
  }

  /**
   * No findings of the accessibility checker that it calls serious or critical. Where the reader's
   * system forces its own colours, their contrast is not the page's.
   */
  async isAccessible({ contrast = true } = {}) {
    await this.rests();
    if (!(await this.page.evaluate(() => 'axe' in globalThis))) await this.page.evaluate(axeSource);
    const { violations } = await this.page.evaluate(
      (enabled) =>
        /** @type {any} */ (globalThis).axe.run({
          resultTypes: ['violations'],
          rules: { 'color-contrast': { enabled } },
        }),
      contrast,
    );
    const grave = violations
      .filter((/** @type {any} */ found) => ['serious', 'critical'].includes(found.impact))
      .map(
        (/** @type {any} */ found) =>
          `${found.id}: ${found.nodes.map((/** @type {any} */ node) => node.html).join(' ')}`,
      );
    assert.deepEqual(grave, []);
  }

  /** Nothing lies beyond the right edge. */
  async fits() {
    const [content, window] = await this.page.evaluate(() => [
      document.documentElement.scrollWidth,
      innerWidth,
    ]);
    assert.ok(content <= window, `the page is ${content} px wide, the window ${window} px`);
  }

  /**
   * Whether something lies within the window as it is scrolled now.
   * @param {import('@playwright/test').Locator} thing
   */
  async sees(thing) {
    const [box, height] = [await thing.boundingBox(), await this.page.evaluate(() => innerHeight)];
    return box !== null && box.y >= 0 && box.y + box.height <= height;
  }

  /** Leaves a picture for people to look at, where pictures are asked for. @param {string} name */
  async picture(name, { fullPage = true } = {}) {
    if (!PICTURES) return;
    await mkdir(pictures, { recursive: true });
    await this.rests();
    await this.page.screenshot({ path: path.join(pictures, `${name}.png`), fullPage });
  }
}
