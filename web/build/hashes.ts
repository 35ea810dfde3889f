// Writes down the digest of every file of the page, so that anybody can compare what a server
// serves with what was built.

import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import type { Plugin } from 'vite';

/**
 * The manifest: `{"files": {path: SHA-256}}`, paths sorted, so that equal pages have equal
 * manifests.
 */
export const MANIFEST = 'hashes.json';

export function hashes(): Plugin {
  let directory = '';
  return {
    name: 'hashes',
    apply: 'build',
    enforce: 'post',
    configResolved(config) {
      directory = resolve(config.root, config.build.outDir);
    },
    closeBundle() {
      const paths = readdirSync(directory, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) =>
          relative(directory, join(entry.parentPath, entry.name)).split(sep).join('/'),
        )
        .filter((path) => path !== MANIFEST)
        .sort();
      const digest = (path: string) =>
        createHash('sha256')
          .update(readFileSync(join(directory, path)))
          .digest('hex');
      const files = Object.fromEntries(paths.map((path) => [path, digest(path)]));
      writeFileSync(join(directory, MANIFEST), `${JSON.stringify({ files }, null, 2)}\n`);
    },
  };
}
