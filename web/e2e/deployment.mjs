// Three real servers on this machine, with data of their own.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const target = path.join(path.dirname(web), 'target');

/** How long the servers may take to set up, to prepare their first masks and to open a room. */
const SETUP = 180_000;

/** The program: named by `OSTRAKON`, or as cargo built it. */
function program() {
  const named = process.env.OSTRAKON ?? process.env.OSTRAKON_BIN;
  const built = [path.join(target, 'debug/ostrakon'), path.join(target, 'release/ostrakon')];
  const found = named ?? built.find((candidate) => existsSync(candidate));
  if (!found)
    throw new Error('there is no server to test with: run `cargo build --package ostrakon`');
  return found;
}

/** The servers as `ostrakon up` names them, by party. */
const NAMES = ['alpha', 'beta', 'gamma'];

/** Beside the base port: where `ostrakon up` puts the public and the internal ports. */
const OFFSETS = [0, 1, 2, 100, 101, 102];

/** A base port of which all are free now. */
async function freePorts() {
  for (let tries = 0; tries < 50; tries++) {
    const base = 20_000 + Math.floor(Math.random() * 12_000);
    const free = await Promise.all(OFFSETS.map((offset) => isFree(base + offset)));
    if (free.every(Boolean)) return base;
  }
  throw new Error('no free ports');
}

/** @param {number} port */
function isFree(port) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/**
 * Three running servers.
 *
 * @typedef {object} Deployment
 * @property {string[]} origins where they are
 * @property {string} files the page's files, which the servers give out
 * @property {string} token with which the first server opens rooms
 * @property {(party: number) => Promise<void>} kill ends a server at once, as a power cut does; it is started again a second later
 * @property {(party: number) => Promise<void>} back waits until a server answers again
 * @property {(name: string) => Promise<string[]>} room opens a room and returns its link at every server
 * @property {() => Promise<void>} stop
 */

/**
 * Starts three servers.
 *
 * @param {{ smtp?: string }} [wishes] the mail server that the first one hands e-mail to
 * @returns {Promise<Deployment>}
 */
export async function start({ smtp } = {}) {
  const directory = await mkdtemp(path.join(tmpdir(), 'ostrakon-e2e-'));
  const base = await freePorts();
  const data = path.join(directory, 'data');
  const files = path.join(directory, 'web');
  await cp(path.join(web, 'dist'), files, { recursive: true });
  const options = [
    'up',
    '--data-dir',
    data,
    '--web',
    files,
    '--base-port',
    `${base}`,
    ...(smtp ? ['--smtp', smtp] : []),
  ];
  const servers = spawn(program(), options, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(servers, 'exit');
  let said = '';
  servers.stderr.on('data', (/** @type {Buffer} */ text) => (said += text));
  const stop = async () => {
    servers.kill('SIGINT');
    const late = setTimeout(() => servers.kill('SIGKILL'), 20_000);
    await ended;
    clearTimeout(late);
    await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    if (process.env.OSTRAKON_E2E_LOG) console.log(said);
  };
  try {
    const origins = (await linksOf(servers, ended)).map((link) => new URL(link).origin);
    const token = (await readFile(path.join(data, 'alpha/admin.token'), 'utf8')).trim();
    const kill = (/** @type {number} */ party) =>
      killServer(path.join(data, NAMES[party] ?? '', 'server.toml'));
    const back = (/** @type {number} */ party) => answers(origins[party] ?? '');
    return {
      origins,
      files,
      token,
      kill,
      back,
      room: (name) => createRoom(data, origins, name),
      stop,
    };
  } catch (error) {
    await stop();
    throw new Error(`${error}; the servers said:\n${said}`);
  }
}

/** Ends the process that serves this configuration, without a warning. @param {string} config */
async function killServer(config) {
  for (const entry of await readdir('/proc')) {
    const command = /^\d+$/.test(entry)
      ? await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '')
      : '';
    if (command.split('\0').includes(config)) return void process.kill(Number(entry), 'SIGKILL');
  }
  throw new Error(`no process serves ${config}`);
}

/** Waits until a server says that it is ready. @param {string} origin */
async function answers(origin) {
  for (let look = 0; look < 600; look++) {
    const ready = await fetch(`${origin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (ready) return;
    await pause(100);
  }
  throw new Error(`${origin} did not come back`);
}

/**
 * A room like the one that `ostrakon up` opens, so that the masks prepared for that one fit it too.
 *
 * @param {string} data
 * @param {string[]} origins
 * @param {string} name
 */
async function createRoom(data, origins, name) {
  const settings = ['--payload', '256', '--capacity', '64', '--seconds', '6', '--data-dir', data];
  const { stdout } = await promisify(execFile)(program(), ['room', 'create', name, ...settings]);
  const [route] = /#\/room\/\S+/.exec(stdout) ?? [];
  if (!route) throw new Error(`no link in what was printed: ${stdout}`);
  return origins.map((origin) => `${origin}/${route}`);
}

/**
 * @param {import('node:child_process').ChildProcess} servers
 * @param {Promise<unknown>} ended
 * @returns {Promise<string[]>}
 */
function linksOf(servers, ended) {
  return new Promise((resolve, reject) => {
    /** @type {string[]} */
    const links = [];
    const timer = setTimeout(() => reject(new Error('the servers opened no room in time')), SETUP);
    void ended.then(() => reject(new Error('the servers stopped')));
    if (!servers.stdout) throw new Error('the servers print nothing');
    createInterface(servers.stdout).on('line', (line) => {
      const [link] = /https?:\/\/\S+\/#\/room\/\S+/.exec(line) ?? [];
      if (link) links.push(link);
      if (links.length === 3) {
        clearTimeout(timer);
        resolve(links);
      }
    });
  });
}
