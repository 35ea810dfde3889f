import { readFileSync } from 'node:fs';

import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { FakeServer, loadForTest } from '../../../test/world';
import { systemClock } from '../../page/clock';
import { DeviceKey, Outbox, Participant as Machine } from '../../page/cryptography';
import type { Reply, Request, Status } from '../../servers/api';
import { Statuses } from '../seen/statuses';
import { Participant, type Part } from './participant';

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
  statuses: { at: number; party: number; status: Omit<Status, 'raw'> | null }[];
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

/** Servers that answer by a script, and the participant that they are played to. */
class Scripted {
  readonly sent: Sent[] = [];
  readonly path: Part[] = [];
  readonly statuses: Statuses;
  readonly outbox = new Outbox();
  private readonly servers: FakeServer[];
  /** Whether this device can write down what goes into an epoch. */
  keeps = true;

  constructor(readonly trace: Trace) {
    vi.setSystemTime(trace.start);
    this.servers = [0, 1, 2].map((party) => {
      const server = new FakeServer(party);
      server.carry = (request) => this.answer(party, request);
      return server;
    });
    this.statuses = new Statuses('room', this.servers, systemClock, 2);
    for (const { at, party, status } of trace.statuses)
      setTimeout(() => {
        if (status) this.statuses.take(party, { ...status, raw: JSON.stringify(status) });
        else this.statuses.lose(party);
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

  /** Lets the participant take part until `signal` aborts. */
  async play(signal: AbortSignal): Promise<void> {
    const { servers, descriptor, key, seed, before, message } = this.trace;
    this.outbox.agree(descriptor.minimum);
    this.outbox.put(message);
    const begin = () =>
      new Machine(
        JSON.stringify(servers),
        JSON.stringify(descriptor),
        DeviceKey.fromSeed(Uint8Array.from(key)),
        Uint8Array.from(seed),
        before ?? undefined,
      );
    const participant = new Participant({
      servers: this.servers,
      statuses: this.statuses,
      clock: systemClock,
      begin,
      fill: (machine, epoch, minimum) => {
        machine.fill(this.outbox, BigInt(epoch), minimum);
        return this.keeps;
      },
      moved: (part) => this.path.push(part),
    });
    await participant.run(signal);
  }
}

const SCRIPTS = ['plain', 'troubles', 'again'];

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
