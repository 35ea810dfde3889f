// Contributing a file of edges that nobody sees, and reading what came of several.

import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { startCommittee } from './support/committee.mjs';
import { program } from './support/deployment.mjs';
import { test } from './support/test.mjs';
import { DESKTOP, PHONE, Visitor } from './support/visitor.mjs';

test('files of edges are checked, contributed and computed on, and the result is a picture', async ({
  browser,
}) => {
  const committee = await startCommittee();
  const home = await mkdtemp(path.join(tmpdir(), 'ostrakon-graph-'));
  try {
    const env = { ...process.env, XDG_STATE_HOME: home };
    /** @param {string[]} options */
    const ostrakon = async (...options) => {
      const { stdout } = await promisify(execFile)(program(), ['graph', ...options], { env });
      return stdout;
    };
    const names = path.join(home, 'names.txt');
    await writeFile(names, 'anna\nben\ncarl\ndora\nemil\n');
    const asked = ['--title', 'Who knows whom?', '--names', names, '--from', 'anna'];
    const shown = ['--hops', '3', '--show', 'vertices'];
    const limits = [...shown, '--edges', '1000', '--invitations', '2', '--json'];
    const created = JSON.parse(
      await ostrakon('create', '--server', committee.origin, ...asked, ...limits),
    );
    const files = ['src,dst\nanna,ben\nben,carl\n', 'carl dora\n'];
    for (const [index, content] of files.entries()) {
      const owner = await Visitor.arrive(browser, index === 0 ? DESKTOP : PHONE);
      await owner.open(created.invitations[index]);
      const { page } = owner;
      await page.getByRole('heading', { name: 'Who knows whom?' }).waitFor();
      const file = page.getByLabel('File with your connections');
      const bad = Buffer.from('anna,ben\nanna,frida\nnonsense\n');
      await file.setInputFiles({ name: 'bad.csv', mimeType: 'text/csv', buffer: bad });
      await page.getByText('2 lines are wrong').waitFor();
      await page.getByText('line 2: the job has no vertex "frida"').waitFor();
      await page.getByText('line 3: expected two names').waitFor();
      await owner.isAccessible();
      await owner.fits();
      await owner.picture(`graph-bad-line-${index}`);
      const buffer = Buffer.from(content);
      await file.setInputFiles({ name: 'good.csv', mimeType: 'text/csv', buffer });
      await page.getByText('every line is right').waitFor();
      await page.getByText('they can show which connections are yours').waitFor();
      await page.getByRole('button', { name: 'Contribute them' }).click();
      await page.getByText('Your connections are in').waitFor();
      await page.reload();
      await page.getByText('Your connections are in').waitFor();
      assert.deepEqual(owner.complaints, []);
      await owner.leave();
    }
    const reader = await Visitor.arrive(browser, DESKTOP);
    await reader.open(created.link);
    await reader.page.getByText('2 contributions').waitFor();
    await ostrakon('run', created.link);
    await reader.page.getByRole('heading', { name: 'Result' }).waitFor();
    const rows = await reader.page.locator('tbody tr').allInnerTexts();
    const counts = rows.map((row) => row.replaceAll(/\s+/g, ' ').trim());
    assert.deepEqual(counts, [
      'start 1',
      '1 connection 1',
      '2 connections 1',
      '3 connections 1',
      'not within 3 1',
    ]);
    await reader.page.getByText('of 2 contributions').waitFor();
    await reader.isAccessible();
    await reader.picture('graph-result');
    assert.deepEqual(reader.complaints, []);
  } finally {
    await committee.stop();
    await rm(home, { recursive: true, force: true });
  }
});
