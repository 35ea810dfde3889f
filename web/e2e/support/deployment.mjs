// Three real servers on this machine, with data of their own.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { HeadlessHost } from './headless-host.mjs';

const web = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const target = path.join(path.dirname(web), 'target');

/** The variable by which every worker knows the deployment that all tests share. */
export const SHARED = 'OSTRAKON_E2E_SHARED';

/** Milliseconds in which servers set up, or come back; a busy machine takes its time. */
const SETUP = 180_000;

/** Milliseconds in which two people have said something, mostly. */
const SAID = 30_000;

/** The program: named by `OSTRAKON`, or as cargo built it. */
export function program() {
  const named = process.env.OSTRAKON ?? process.env.OSTRAKON_BIN;
  const built = [path.join(target, 'debug/ostrakon'), path.join(target, 'release/ostrakon')];
  const found = named ?? built.find((candidate) => existsSync(candidate));
  if (!found)
    throw new Error('there is no server to test with: run `cargo build --package ostrakon`');
  return found;
}

/** The servers as `ostrakon init --local` names them, by party. */
const NAMES = ['alpha', 'beta', 'gamma'];

/** Beside the base port: where it puts the public and the internal ports. */
const OFFSETS = [0, 1, 2, 100, 101, 102];

/** A base port of which all are free now. */
export async function freePorts() {
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
 * What is told of running servers to whoever uses them.
 *
 * @typedef {object} Description
 * @property {string[]} origins where they are
 * @property {string} data where their files are
 * @property {string} files the page's files, which the servers give out
 * @property {string} token with which the first server opens rooms
 */

/**
 * What all tests share.
 *
 * @typedef {object} Shared
 * @property {Deployment} deployment
 * @property {Agora} agora a room for those who only look
 * @property {string} committee where the first member of a committee is
 *
 * @typedef {object} Agora
 * @property {[string, string, string]} links its link at every server
 * @property {string} hostLink
 */

/** What was said in the room that tests share. */
export const QUESTION = 'Why were judges drawn by lot?';
export const NOISE = 'Buy my amphorae!';

/** Three running servers. */
export class Deployment {
  /** @param {Description} description */
  constructor(description) {
    this.description = description;
    this.origins = description.origins;
    this.files = description.files;
    this.token = description.token;
  }

  /** The one that all tests share, and the room in it. @returns {Shared} */
  static shared() {
    const { description, agora, committee } = JSON.parse(process.env[SHARED] ?? '');
    return { deployment: new Deployment(description), agora, committee };
  }

  /** Where a server is. @param {number} [party] */
  origin(party = 0) {
    return this.origins[party] ?? '';
  }

  /**
   * Opens a room of one's own, and says where its host is.
   *
   * @param {string} name
   * @param {object} [settings]
   */
  async hosted(name, settings = {}) {
    const host = await HeadlessHost.open(this.origin(), { name, ...settings });
    const links = this.origins.map((origin) => `${origin}/${host.route}`);
    return { host, links: /** @type {[string, string, string]} */ (links) };
  }

  /**
   * Opens a room of a test's own: who leaves a room is counted there for half a minute longer.
   *
   * @param {string} name
   * @param {object} [settings]
   * @returns {Promise<[string, string, string]>} its link at every server
   */
  async room(name, settings = {}) {
    return (await this.hosted(name, settings)).links;
  }

  /**
   * Opens a room of a test's own in which two people have said something, and are gone.
   *
   * Where both first had their places from one server, one of the two may be published without the
   * other, who is then alone for ever: after a while another room is opened.
   *
   * @param {string} name
   * @param {[string, string]} texts
   * @param {object} [settings]
   */
  async spokenIn(name, texts, settings = {}) {
    for (let timeout = SAID; ; timeout *= 2) {
      const { host, links } = await this.hosted(name, settings);
      const said = texts.map((text, party) =>
        promisify(execFile)(program(), ['say', links[party] ?? '', text], { timeout }).then(
          () => true,
          (error) => {
            if (!error.killed) throw error;
            return false;
          },
        ),
      );
      if ((await Promise.all(said)).every(Boolean))
        return { host, links, hostLink: host.link(this.origin()) };
    }
  }

  /**
   * Ends a server at once, as a power cut does; it is started again a second later.
   * @param {number} party
   */
  async kill(party) {
    const config = configOf(this.description.data, NAMES[party] ?? '');
    for (const entry of await readdir('/proc')) {
      const command = /^\d+$/.test(entry)
        ? await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '')
        : '';
      if (command.split('\0').includes(config)) return void process.kill(Number(entry), 'SIGKILL');
    }
    throw new Error(`no process serves ${config}`);
  }

  /** Waits until a server says that it is ready. @param {number} party */
  async back(party) {
    const origin = this.origin(party);
    for (const end = Date.now() + SETUP; Date.now() < end; await pause(50)) {
      const ready = await fetch(`${origin}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (ready) return;
    }
    throw new Error(`${origin} did not come back`);
  }
}

/** A deployment that whoever started it stops. */
class Started extends Deployment {
  /**
   * @param {Description} description
   * @param {() => Promise<void>} stop
   */
  constructor(description, stop) {
    super(description);
    this.stop = stop;
  }
}

/**
 * Starts three servers.
 *
 * @param {{ smtp?: string }} [wishes] the mail server that the first one hands e-mail to
 * @returns {Promise<Started>}
 */
export async function start({ smtp } = {}) {
  const directory = await mkdtemp(path.join(tmpdir(), 'ostrakon-e2e-'));
  const data = path.join(directory, 'data');
  const files = path.join(directory, 'web');
  await cp(path.join(web, 'dist'), files, { recursive: true });
  const base = await freePorts();
  // With a mail server as people start them first, otherwise as tests need them.
  if (!smtp) await configure(data, base);
  const first = smtp ? ['--base-port', `${base}`, '--smtp', smtp] : [];
  const servers = spawn(program(), ['up', '--data-dir', data, '--web', files, ...first], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
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
    const links = await linksOf(servers, ended);
    const origins = links.map((link) => new URL(link).origin);
    const token = (await readFile(path.join(data, 'alpha/admin.token'), 'utf8')).trim();
    return new Started({ origins, data, files, token }, stop);
  } catch (error) {
    await stop();
    throw new Error(`${error}; the servers said:\n${said}`);
  }
}

const configOf = (/** @type {string} */ data, /** @type {string} */ name) =>
  path.join(data, name, 'server.toml');

/**
 * Makes configurations for many rooms of one address, and for epochs of one second.
 *
 * @param {string} data
 * @param {number} base the first public port
 */
async function configure(data, base) {
  await promisify(execFile)(program(), ['init', '--local', data, '--base-port', `${base}`]);
  const changes = { per_hour: 1000, per_hour_and_address: 1000, shortest_seconds: 1 };
  for (const name of NAMES) {
    let text = await readFile(configOf(data, name), 'utf8');
    for (const [setting, value] of Object.entries(changes)) {
      const line = new RegExp(`^${setting} = \\d+$`, 'm');
      if (!line.test(text)) throw new Error(`the configuration does not set ${setting}`);
      text = text.replace(line, `${setting} = ${value}`);
    }
    await writeFile(configOf(data, name), text);
  }
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
      if (links.length === NAMES.length) {
        clearTimeout(timer);
        resolve(links);
      }
    });
  });
}
