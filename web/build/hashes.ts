// Writes down the digest of every file of the page, so that anybody can compare what a server
// serves with what was built.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { filesBelow } from './files';

/**
 * The manifest: `{"files": {path: SHA-256}}`, paths sorted, so that equal pages have equal
 * manifests.
 */
const MANIFEST = 'hashes.json';

/** Writes the manifest of a page beside its files. */
export function writeHashes(directory: string): void {
  const paths = filesBelow(directory).filter((path) => path !== MANIFEST);
  const digest = (path: string) =>
    createHash('sha256')
      .update(readFileSync(join(directory, path)))
      .digest('hex');
  const files = Object.fromEntries(paths.map((path) => [path, digest(path)]));
  writeFileSync(join(directory, MANIFEST), `${JSON.stringify({ files }, null, 2)}\n`);
}
