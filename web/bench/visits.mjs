// Measures a visit of the one-pass protocol, and a report of a number, in Chromium: `cargo xtask
// bench-wasm` builds what it needs and starts it.
//
// node bench/visits.mjs NAME=DIRECTORY …: each directory has the bindings of one build of
// crates/wasm/examples/visits.rs. Prints a JSON list: per build and shape the median milliseconds
// of the visit's parts, and per build and committee those of a report. The builds take turns.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';

import { launch } from '../e2e/support/visitor.mjs';

const RUNS = 5;
/** Visitors, options of a ballot, ballots, how many came before. */
const SHAPES = [
  { name: 'n=10 binary, last', visitors: 10, values: 2, ballots: 1, before: 9 },
  { name: 'n=100 binary, first', visitors: 100, values: 2, ballots: 1, before: 0 },
  { name: 'n=100 binary, last', visitors: 100, values: 2, ballots: 1, before: 99 },
  { name: 'n=20 c=3, last', visitors: 20, values: 3, ballots: 1, before: 19 },
  { name: '10 dates, n=20, last', visitors: 20, values: 2, ballots: 10, before: 19 },
];

/**
 * @typedef {{ decode: number, verify: number, step: number, total: number, bytes: number }} Times
 */

/** @type {Map<string, string>} */
const builds = new Map();
for (const argument of process.argv.slice(2)) {
  const [name = '', directory = ''] = argument.split('=');
  builds.set(name, directory);
}

const server = createServer(async (request, response) => {
  const [, build = '', file = ''] = (request.url ?? '/').split('/');
  const directory = builds.get(build);
  if (directory === undefined || !/^visits(_bg)?\.(js|wasm)$/.test(file)) {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Visits</title>');
    return;
  }
  response.setHeader('content-type', file.endsWith('.js') ? 'text/javascript' : 'application/wasm');
  response.end(await readFile(path.join(directory, file)));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
const address = server.address();
const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;

const browser = await launch();
/** @type {Map<string, import('playwright-core').Page>} */
const pages = new Map();
for (const build of builds.keys()) {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${origin}/`);
  await page.evaluate(async (build) => {
    const module = await import(`/${build}/visits.js`);
    await module.default({ module_or_path: `/${build}/visits_bg.wasm` });
    Object.assign(globalThis, { Visits: module.Visits, Reporter: module.Reporter });
  }, build);
  pages.set(build, page);
}

const results = [];
for (const { name, ...shape } of SHAPES) {
  for (const page of pages.values()) {
    await page.evaluate((shape) => {
      const { Visits } = /** @type {any} */ (globalThis);
      const visits = new Visits(shape.visitors, shape.values, shape.ballots, shape.before);
      Object.assign(globalThis, { visits });
    }, shape);
  }
  /** @type {Map<string, Times[]>} */
  const times = new Map();
  for (let run = 0; run < RUNS; run += 1) {
    for (const [build, page] of pages)
      times.set(build, [...(times.get(build) ?? []), await page.evaluate(visit)]);
  }
  for (const [build, all] of times) results.push({ build, shape: name, ...median(all) });
}
/** Members of a committee to which a number of 32 bits is reported. */
for (const members of [3, 5, 9]) {
  for (const [build, page] of pages) {
    const { ms, bytes } = await page.evaluate(reports, members);
    results.push({ build, shape: `report of 32 bits, ${members} members`, total: ms, bytes });
  }
}
await browser.close();
server.close();
console.log(JSON.stringify(results, null, 2));

/** A report, in the page: the median of some. @param {number} members */
function reports(members) {
  const { Reporter } = /** @type {any} */ (globalThis);
  const reporter = new Reporter(members);
  /** @type {number[]} */
  const times = [];
  let bytes = 0;
  for (let number = 0; number < 21; number += 1) {
    const begun = performance.now();
    bytes = reporter.report(number);
    times.push(performance.now() - begun);
  }
  times.sort((a, b) => a - b);
  return { ms: Math.round((times[10] ?? 0) * 10) / 10, bytes };
}

/** One visit, in the page. @returns {Times} */
function visit() {
  const { visits } = /** @type {any} */ (globalThis);
  const begun = performance.now();
  visits.decode();
  const decoded = performance.now();
  visits.verify();
  const verified = performance.now();
  const bytes = visits.step();
  const done = performance.now();
  return {
    decode: decoded - begun,
    verify: verified - decoded,
    step: done - verified,
    total: done - begun,
    bytes,
  };
}

/** @param {Times[]} all @returns {Times} */
function median(all) {
  const middle = (/** @type {keyof Times} */ key) => {
    const sorted = all.map((times) => times[key]).sort((a, b) => a - b);
    return Math.round((sorted[(sorted.length - 1) >> 1] ?? 0) * 10) / 10;
  };
  return {
    decode: middle('decode'),
    verify: middle('verify'),
    step: middle('step'),
    total: middle('total'),
    bytes: middle('bytes'),
  };
}
