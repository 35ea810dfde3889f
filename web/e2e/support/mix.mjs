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

/** Starts the room; `links` has one for each server, `homes` where each keeps its files. */
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
    const kills = () => void killed(child.pid ?? 0, servers[number] ?? '').catch(() => undefined);
    stopped ??= setInterval(kills, 100);
    kills();
  };
  /** @type {NodeJS.Timeout | undefined} */
  let stopped;
  /** Leaves it alive again. */
  const revive = () => {
    clearInterval(stopped);
    stopped = undefined;
  };
  const stop = async () => {
    revive();
    child.kill('SIGINT');
    if (child.exitCode === null) await once(child, 'exit');
    await rm(data, { recursive: true, force: true });
  };
  return { links, homes: servers, kill, revive, stop };
}

/**
 * Kills the process whose command line names a directory, of those that another one has started.
 * To look at all processes of the machine so often would take half a processor.
 *
 * @param {number} parent
 * @param {string} home
 */
async function killed(parent, home) {
  for (const thread of await readdir(`/proc/${parent}/task`)) {
    const started = await readFile(`/proc/${parent}/task/${thread}/children`, 'utf8');
    for (const one of started.split(' ').filter(Boolean)) {
      const command = await readFile(`/proc/${one}/cmdline`, 'utf8');
      if (command.includes(`${home}\0`)) process.kill(Number(one), 'SIGKILL');
    }
  }
}
