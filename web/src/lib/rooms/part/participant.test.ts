import { readFileSync } from 'node:fs';

import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { loadForTest } from '../../../test/world';
import { ended, systemClock } from '../../page/clock';
import { DeviceKey, Follower, Outbox, Participant as Machine } from '../../page/cryptography';
import type { Reply, Request, Status } from '../../servers/api';
import { Following, type Report } from '../seen/following';
import { takePart, type Part } from './participant';

beforeAll(loadForTest);
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

interface Sent {
  at: number;
  party: number;
  path: string;
  body: string | null;
}

/** See `crates/client/tests/participant/trace.rs`. */
interface Trace {
  servers: unknown;
  descriptor: { minimum: number };
  key: number[];
  seed: number[];
  before: number | null;
  message: string;
  start: number;
  lasts: number;
  statuses: { at: number; party: number; status: Status | null }[];
  rules: {
    from: number;
    party: number;
    path: string;
    delay: number;
    status: number;
    body: string;
  }[];
  requests: Sent[];
}

function traceOf(name: string): Trace {
  const path = new URL(`../../../../../crates/client/tests/traces/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')) as Trace;
}

/** Servers that answer by a script, and the machine that they are played to. */
class Scripted {
  readonly sent: Sent[] = [];
  readonly path: Part[] = [];
  readonly reports: Report[];
  readonly outbox = new Outbox();
  private readonly servers: { carry(request: Request): Promise<Reply> }[];
  private readonly listeners: ((party: number) => void)[] = [];
  /** Whether this device can write down what goes into an epoch. */
  keeps = true;

  constructor(readonly trace: Trace) {
    vi.setSystemTime(trace.start);
    this.servers = [0, 1, 2].map((party) => ({
      carry: (request: Request) => this.answer(party, request),
    }));
    const silent = { reachable: null, status: null, came: 0, sealsAt: null };
    this.reports = this.servers.map(() => silent);
    for (const { at, party, status } of trace.statuses)
      setTimeout(() => {
        this.reports[party] = { ...silent, reachable: status !== null, status, came: Date.now() };
        for (const listener of this.listeners) listener(party);
      }, at);
  }

  private async answer(party: number, { path, body, patience }: Request): Promise<Reply> {
    const at = Date.now() - this.trace.start;
    this.sent.push({ at, party, path, body });
    const rule = this.trace.rules.findLast(
      (rule) => rule.from <= at && rule.party === party && path.includes(rule.path),
    );
    const silent = !rule || rule.status === 0;
    await systemClock.sleep(silent ? patience : rule.delay, new AbortController().signal);
    return silent ? { status: 0, body: '' } : { status: rule.status, body: rule.body };
  }

  /** Lets the machine follow the room, or take part, until `signal` aborts. */
  async play(signal: AbortSignal): Promise<void> {
    const { servers, descriptor, key, seed, before, message } = this.trace;
    const documents = [JSON.stringify(servers), JSON.stringify(descriptor)] as const;
    if (message === '') {
      const onlooker = { saw: () => undefined, looked: () => undefined, keeps: () => false };
      const machine = new Follower(...documents, Uint8Array.from(seed));
      const following = new Following(machine, this.servers, systemClock, signal, onlooker);
      following.happened((now) => machine.wake(now));
      return ended(signal);
    }
    this.outbox.agree(descriptor.minimum);
    this.outbox.put(message);
    const device = DeviceKey.fromSeed(Uint8Array.from(key));
    const surroundings = {
      servers: this.servers,
      words: {
        reports: this.reports,
        listen: (listener: (party: number) => void) => void this.listeners.push(listener),
      },
      clock: systemClock,
      begin: () => new Machine(...documents, device, Uint8Array.from(seed), before ?? undefined),
      fill: (machine: Machine, epoch: number, minimum: number) => {
        machine.fill(this.outbox, BigInt(epoch), minimum);
        return this.keeps;
      },
      moved: (part: Part) => void this.path.push(part),
    };
    await takePart(surroundings, signal);
  }
}

const SCRIPTS = ['plain', 'troubles', 'again', 'follow', 'follow-end'];

test.each(SCRIPTS)('the page sends what the scripts say: %s', async (name) => {
  const scripted = new Scripted(traceOf(name));
  const stop = new AbortController();
  const playing = scripted.play(stop.signal);
  await vi.advanceTimersByTimeAsync(scripted.trace.lasts - 1);
  stop.abort();
  await playing;
  expect(scripted.trace.requests.length).toBeGreaterThan(5);
  expect(scripted.sent).toEqual(scripted.trace.requests);
});

test('it is told where it stands, and sends nothing more after leaving', async () => {
  const scripted = new Scripted(traceOf('plain'));
  const stop = new AbortController();
  const playing = scripted.play(stop.signal);
  await vi.advanceTimersByTimeAsync(9_900);
  expect(scripted.path).toEqual([
    { do: 'tell', at: 'looking', home: null, epoch: null },
    { do: 'tell', at: 'waiting', home: 1, epoch: null },
    { do: 'tell', at: 'placed', home: 1, epoch: 1 },
    { do: 'tell', at: 'handed-in', home: 1, epoch: 1 },
  ]);
  expect(scripted.outbox.undecided()).toBe(1n);
  stop.abort();
  await playing;
  const sent = scripted.sent.length;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(scripted.sent).toHaveLength(sent);
});

test('while nothing can be written down nothing is handed in', async () => {
  const scripted = new Scripted(traceOf('plain'));
  scripted.keeps = false;
  const stop = new AbortController();
  const playing = scripted.play(stop.signal);
  await vi.advanceTimersByTimeAsync(9_000);
  const handedIn = () => scripted.sent.filter(({ path }) => path.endsWith('/submission')).length;
  expect(handedIn()).toBe(0);
  scripted.keeps = true;
  await vi.advanceTimersByTimeAsync(900);
  expect(handedIn()).toBe(3);
  stop.abort();
  await playing;
});
