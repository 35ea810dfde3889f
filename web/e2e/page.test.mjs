// The page before somebody takes part, and what it refuses.

import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';

import { test } from './support/test.mjs';
import { DESKTOP, Visitor } from './support/visitor.mjs';

test('a forged wall raises the alarm and is not shown', async ({ browser, agora }) => {
  const [link] = agora.links;
  const visitor = await Visitor.arrive(browser);
  await visitor.page.route('**/api/v1/rooms/*/board*', async (route) => {
    const response = await route.fetch();
    const page = await response.json();
    for (const { entry } of page.entries)
      for (const message of entry.messages) message.kept.body[0] ^= 1;
    await route.fulfill({ response, json: page });
  });
  await visitor.open(link);
  await visitor.page
    .getByRole('alert')
    .getByText('A server showed something forged')
    .first()
    .waitFor();
  await visitor.page.getByText('What was said exactly').first().click();
  await visitor.page
    .getByText(/entry \d+ bears a signature that server \d did not make/)
    .first()
    .waitFor();
  assert.equal(await visitor.page.locator('[data-entry]').count(), 0);
  await visitor.isAccessible();
  await visitor.picture('alarm');
});

test('where a browser forbids the page to keep anything, the page says so', async ({
  browser,
  agora,
}) => {
  const [link] = agora.links;
  const visitor = await Visitor.arrive(browser);
  await visitor.page.addInitScript(() => {
    const get = () => {
      throw new DOMException('The operation is insecure.', 'SecurityError');
    };
    Object.defineProperty(globalThis, 'localStorage', { get });
  });
  await visitor.open(link);
  await visitor.page
    .getByRole('alert')
    .getByText('This browser forbids this site to keep anything')
    .waitFor();
  await visitor.isAccessible();
});

test('what a visit loads is on the list of the build, with its digest', async ({
  browser,
  agora,
}) => {
  const [link] = agora.links;
  const { origin } = new URL(link);
  const { files } = await (await fetch(`${origin}/hashes.json`)).json();
  const visitor = await Visitor.arrive(browser, { ...DESKTOP, serviceWorkers: 'allow' });
  visitor.notesRequests();
  await visitor.open(origin);
  await visitor.page.getByRole('heading', { level: 1 }).waitFor();
  const loaded = visitor.requests.map(
    (request) => new URL(request.url()).pathname.slice(1) || 'index.html',
  );
  assert.deepEqual(
    loaded.filter((path) => !path.startsWith('api/') && !(path in files)),
    [],
  );
  for (const [path, digest] of Object.entries(files)) {
    const contents = new Uint8Array(await (await fetch(`${origin}/${path}`)).arrayBuffer());
    assert.equal(createHash('sha256').update(contents).digest('hex'), digest, path);
  }
});

test('servers that the link does not name are refused, and told nothing', async ({
  browser,
  agora,
}) => {
  const [link] = agora.links;
  const visitor = (await Visitor.arrive(browser)).notesRequests();
  const text = link;
  await visitor.open(text.slice(0, -1) + (text.endsWith('0') ? '1' : '0'));
  await visitor.page
    .getByRole('alert')
    .getByText('These are not the servers that your link names')
    .waitFor();
  assert.deepEqual(
    visitor.requests.filter((request) => request.method() === 'POST'),
    [],
  );
  await visitor.isAccessible();
  await visitor.picture('refusal');
});

test('a link is followed from the start page, and what is none is named so', async ({
  browser,
  deployment,
  agora,
}) => {
  const [link] = agora.links;
  const visitor = await Visitor.arrive(browser);
  await visitor.open(deployment.origin());
  await visitor.page.getByLabel('Link or code of a room').fill('https://example.org/');
  await visitor.page.getByRole('button', { name: 'Go to the room' }).click();
  await visitor.page.getByText('neither a link to a room').waitFor();
  await visitor.page.getByLabel('Link or code of a room').fill(link);
  await visitor.page.keyboard.press('Enter');
  await visitor.page.getByRole('heading', { name: 'The wall' }).waitFor();
});

test('without its cryptography the page says so, and goes on when it can be had', async ({
  browser,
  deployment,
  agora,
}) => {
  const [link] = agora.links;
  const visitor = await Visitor.arrive(browser);
  const { page } = visitor;
  await page.route('**/*.wasm', (route) => route.abort());
  await visitor.open(deployment.origin());
  await page.getByLabel('Link or code of a room').fill(link);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('could not be loaded').waitFor();
  await visitor.open(link);
  await page
    .getByRole('alert')
    .getByText('the server did not answer, or this device has no network')
    .waitFor();
  await page.unroute('**/*.wasm');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'The wall' }).waitFor();
});
