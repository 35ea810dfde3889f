// The page as everybody can see it.

import { strict as assert } from 'node:assert';

import { test } from './support/test.mjs';
import { DESKTOP, PHONE, Visitor } from './support/visitor.mjs';

/**
 * Every way of looking at the page that is checked: the devices by day and by night, and once each
 * what differs for some.
 *
 * @type {[string, import('@playwright/test').BrowserContextOptions, string][]}
 */
const LOOKS = [
  ['desktop-light', { ...DESKTOP, colorScheme: 'light' }, 'en'],
  ['desktop-dark', { ...DESKTOP, colorScheme: 'dark' }, 'de'],
  ['phone-light', { ...PHONE, colorScheme: 'light' }, 'de'],
  ['phone-dark', { ...PHONE, colorScheme: 'dark' }, 'en'],
  ['phone-right-to-left', { ...PHONE, colorScheme: 'light' }, 'rtl'],
  ['desktop-forced-colours', { ...DESKTOP, forcedColors: 'active', reducedMotion: 'reduce' }, 'en'],
];

for (const [look, options, reading] of LOOKS) {
  test(`${look}: fits, is accessible, and can be looked at`, async ({
    browser,
    deployment,
    agora,
  }) => {
    const [link] = agora.links;
    const visitor = await Visitor.arrive(browser, {
      reducedMotion: 'no-preference',
      ...options,
      locale: reading === 'de' ? 'de-DE' : 'en-GB',
    });
    const { page } = visitor;
    const seen = async (/** @type {string} */ what) => {
      if (reading === 'rtl') await page.evaluate(() => void (document.documentElement.dir = 'rtl'));
      await visitor.fits();
      await visitor.isAccessible({ contrast: options.forcedColors !== 'active' });
      await visitor.picture(`${what}-${look}`);
    };
    await visitor.open(deployment.origin());
    await page.getByRole('heading', { level: 1 }).waitFor();
    await seen('start');
    await visitor.open(link);
    await page.locator('[data-join]').waitFor();
    await page.locator('[data-entry]').first().waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), reading === 'de' ? 'de' : 'en');
    const take = page.getByRole('button', {
      name: reading === 'de' ? 'Teilnehmen' : 'Take part',
      exact: true,
    });
    if (options.isMobile)
      assert.ok(await visitor.sees(take), 'the choice lies below what a phone shows');
    await seen('join');
    await take.click();
    await page.locator('#message').waitFor();
    await page
      .locator('details')
      .evaluateAll((all) => all.forEach((one) => one.setAttribute('open', '')));
    await seen('room');
  });
}
