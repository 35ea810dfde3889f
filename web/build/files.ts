// What lies in a folder.

import { readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** The files below a folder, sorted, by their paths from it with `/` between folders. */
export function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}
