// Compresses the files of the page once, when it is built, and not at every visit: beside each of
// them that becomes smaller lie `NAME.br` and `NAME.gz`, which servers send to browsers that take
// them. What a browser reads is the file itself either way, so the list of digests names only that.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** What is compressed already, as pictures are, is left as it is. */
const WORTH_IT = /\.(css|html|js|json|svg|wasm|webmanifest)$/;

/** The two levels above it take ten times as long for a tenth less. */
const BROTLI_QUALITY = 9;

const WAYS: [string, (file: Uint8Array) => Uint8Array][] = [
  [
    'br',
    (file) =>
      brotliCompressSync(file, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  ],
  ['gz', (file) => gzipSync(file, { level: constants.Z_BEST_COMPRESSION })],
];

export function compressed(): Plugin {
  let directory = '';
  return {
    name: 'compressed',
    apply: 'build',
    enforce: 'post',
    configResolved(config) {
      directory = resolve(config.root, config.build.outDir);
    },
    closeBundle: {
      sequential: true,
      order: 'post',
      handler() {
        for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
          if (!entry.isFile() || !WORTH_IT.test(entry.name)) continue;
          const path = join(entry.parentPath, entry.name);
          const file = readFileSync(path);
          for (const [ending, compress] of WAYS) {
            const smaller = compress(file);
            if (smaller.length < file.length) writeFileSync(`${path}.${ending}`, smaller);
          }
        }
      },
    },
  };
}
