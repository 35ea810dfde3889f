import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

import { compress } from './build/compressed';
import { filesBelow } from './build/files';
import { writeHashes } from './build/hashes';

const WORKER = 'service-worker.js';

/** Tells the service worker the names of all files of the page, and a digest of what is in them. */
function pageFiles(): Plugin {
  return {
    name: 'page-files',
    apply: 'build',
    enforce: 'post',
    generateBundle(_, bundle) {
      const built = Object.values(bundle).map((file): [string, string | Uint8Array] => [
        file.fileName,
        file.type === 'chunk' ? file.code : file.source,
      ]);
      const copied = filesBelow('public').map((name): [string, Uint8Array] => [
        name,
        readFileSync(join('public', name)),
      ]);
      const files = [...built, ...copied]
        .filter(([name]) => name !== WORKER)
        .sort(([a], [b]) => (a < b ? -1 : 1));
      const digest = createHash('sha256');
      for (const [name, contents] of files)
        digest.update(`${name}\0`).update(createHash('sha256').update(contents).digest());
      const worker = bundle[WORKER];
      if (worker?.type !== 'chunk' || !worker.code.includes('__FILES__'))
        throw new Error('the service worker was not built');
      worker.code = worker.code
        .replace('__FILES__', JSON.stringify(files.map(([name]) => name)))
        .replace('__VERSION__', digest.digest('hex'));
    },
  };
}

/** Lists the digests of the page's files, and then compresses them: the list names none of that. */
function finished(): Plugin {
  let directory = '';
  return {
    name: 'finished',
    apply: 'build',
    enforce: 'post',
    configResolved(config) {
      directory = resolve(config.root, config.build.outDir);
    },
    closeBundle() {
      writeHashes(directory);
      compress(directory);
    },
  };
}

// The servers send `default-src 'self'` and allow nothing inline: no data: addresses, no script in
// the document.
export default defineConfig({
  plugins: [svelte(), pageFiles(), finished()],
  base: './',
  // One world for all files of a process: what they import is read and compiled once, not fifty
  // times. No test leaves anything behind in it.
  test: { include: ['src/**/*.test.ts'], isolate: false, unstubGlobals: true },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: { index: 'index.html', worker: 'src/worker/service-worker.ts' },
      output: {
        entryFileNames: ({ name }) => (name === 'worker' ? WORKER : 'assets/[name]-[hash].js'),
      },
    },
  },
});
