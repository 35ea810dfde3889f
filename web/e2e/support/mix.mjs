// A room of four real servers without a clock, on this machine.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { freePorts, program } from './deployment.mjs';

const files = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../dist');

/** Starts the room; `links` has one for each server. */
export async function startMix() {
  const data = await mkdtemp(path.join(tmpdir(), 'ostrakon-mix-'));
  const base = await freePorts();
  const home = path.join(data, 'site');
  const servers = ['1', '2', '3', '4'].map((number) => path.join(home, `server-${number}`));
  const options = ['--data-dir', home, '--base-port', `${base}`, '--web', files];
  const child = spawn(program(), ['mixer', 'up', '--seconds', '4', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  /** @type {string[]} */
  const links = [];
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) {
    if (line.startsWith('  http')) links.push(line.trim());
    if (links.length === servers.length) break;
  }
  /**
   * Kills a server again and again, as whoever started it starts it again.
   *
   * @param {number} number
   */
  const kill = (number) => {
    stopped ??= setInterval(() => void killed(servers[number] ?? ''), 50);
    void killed(servers[number] ?? '');
  };
  /** @type {NodeJS.Timeout | undefined} */
  let stopped;
  const stop = async () => {
    clearInterval(stopped);
    child.kill('SIGINT');
    if (child.exitCode === null) await once(child, 'exit');
    await rm(data, { recursive: true, force: true });
  };
  return { links, kill, stop };
}

/** Kills the process whose command line names a directory. @param {string} home */
async function killed(home) {
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const command = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '');
    if (command.includes(`${home}\0`) && command.includes('serve')) {
      try {
        process.kill(Number(entry), 'SIGKILL');
      } catch {
        // It is gone already.
      }
    }
  }
}
