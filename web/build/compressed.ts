// Compresses the files of the page once, when it is built, and not at every visit: beside each of
// them that becomes smaller lie `NAME.br` and `NAME.gz`, which servers send to browsers that take
// them. What a browser reads is the file itself either way, so the list of digests names only that.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

import { filesBelow } from './files';

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

/** Compresses the files of a page. */
export function compress(directory: string): void {
  for (const name of filesBelow(directory)) {
    if (!WORTH_IT.test(name)) continue;
    const path = join(directory, name);
    const file = readFileSync(path);
    for (const [ending, way] of WAYS) {
      const smaller = way(file);
      if (smaller.length < file.length) writeFileSync(`${path}.${ending}`, smaller);
    }
  }
}
