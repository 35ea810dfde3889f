// A committee of real members on this machine.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { freePorts, program } from './deployment.mjs';

const files = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../dist');

/** Starts a committee of three; `origin` is its first member's. */
export async function startCommittee() {
  const data = await mkdtemp(path.join(tmpdir(), 'ostrakon-committee-'));
  const base = await freePorts();
  const home = path.join(data, 'site');
  const options = ['--data-dir', home, '--base-port', `${base}`, '--web', files];
  options.push('--fewest-reports', '3');
  const child = spawn(program(), ['committee', 'up', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const told = once(createInterface({ input: child.stdout }), 'line');
  const stopped = ended.then(() => {
    throw new Error('the committee stopped');
  });
  const [line] = await Promise.race([told, stopped]);
  const origin = /** @type {string} */ (line).split(' ').at(-1) ?? '';
  const stop = async () => {
    child.kill('SIGINT');
    await ended;
    await rm(data, { recursive: true, force: true });
  };
  return { origin, stop };
}
