import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { Played, atOnce, scriptOf, written, type Script } from '../../../test/visits';
import { loadForTest } from '../../../test/world';
import { DecisionMemory, DecisionVisitor, Deployment, DeviceKey } from '../../page/cryptography';
import type { Reply, Request } from '../../servers/api';
import { Visiting, type Here, type News } from './visiting';

beforeAll(loadForTest);
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

/** A visit that is played to servers that answer by a script. */
class Scripted {
  readonly script: Script;
  readonly played: Played;
  readonly news: News[] = [];
  readonly memory = new DecisionMemory();
  readonly visiting: Visiting;
  readonly stop = new AbortController();
  /** Whether this device can write down what it must. */
  keeps = true;

  constructor(name: string) {
    const script = scriptOf(name);
    [this.script, this.played] = [script, new Played(script)];
    vi.setSystemTime(script.start);
    const device = DeviceKey.fromSeed(Uint8Array.from(script.key));
    const deployment = new Deployment(JSON.stringify(script.servers));
    const seed = Uint8Array.from(script.seed);
    const machine = new DecisionVisitor(deployment, script.decision, undefined, device, seed);
    const servers = [0, 1, 2].map((party) => ({
      carry: (request: Request) => this.answer(party, request),
    }));
    this.visiting = new Visiting(machine, servers, atOnce, this.stop.signal, {
      keep: (act) => {
        act(this.keeps ? this.memory : DecisionMemory.restore(this.memory.save()));
        return Promise.resolve(this.keeps);
      },
      told: (news) => void this.news.push(news),
      looked: () => undefined,
    });
    for (const { at, answers } of script.wishes)
      setTimeout(() => {
        this.visiting.happened((now) =>
          answers === null ? machine.accept(now) : machine.answer(now, Uint8Array.from(answers)),
        );
      }, at);
    this.visiting.happened((now) => machine.wake(now));
  }

  private async answer(party: number, { path, body, patience }: Request): Promise<Reply> {
    const found = this.played.answer(party, path, body);
    await atOnce.sleep(found?.delay ?? patience, new AbortController().signal);
    return { status: found?.status ?? 0, body: found?.answer ?? '' };
  }
}

test.each(['visit', 'visit-troubles'])('the page visits as the scripts say: %s', async (name) => {
  const { script, played, news, stop, visiting } = new Scripted(name);
  await vi.advanceTimersByTimeAsync(script.lasts - 1);
  expect(script.exchanges.length).toBeGreaterThan(20);
  expect(played.sent).toEqual(written(script));

  const { wanted, pending, outcome, distrusted } = JSON.parse(visiting.here()) as Here;
  expect([wanted, pending, distrusted]).toEqual([[], null, []]);
  expect(outcome?.meanings).toEqual([{ counts: [1, 1] }]);
  const ends = news.flatMap((one) => (one.at === 'done' ? [one.deed] : []));
  expect(ends).toEqual(['accept', 'answer']);
  stop.abort();
});

test('answers leave once they are written down and not before, and nothing after leaving', async () => {
  const scripted = new Scripted('visit');
  const { script, played, memory, news, visiting } = scripted;
  await vi.advanceTimersByTimeAsync(8_900);
  expect(played.handedIn()).toHaveLength(1);
  scripted.keeps = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(played.handedIn()).toHaveLength(1);
  expect(memory.hasAnswered(script.decision)).toBe(false);
  const failed = news.filter(({ at }) => at === 'failed');
  expect(failed).toMatchObject([{ deed: 'answer', failure: { kind: 'not-kept' } }]);

  scripted.keeps = true;
  await vi.advanceTimersByTimeAsync(4_000);
  visiting.happened((now) => visiting.machine.answer(now, Uint8Array.of(1)));
  await vi.advanceTimersByTimeAsync(4_000);
  expect(played.handedIn().length).toBeGreaterThan(1);
  expect(memory.hasAnswered(script.decision)).toBe(true);

  scripted.stop.abort();
  const sent = played.sent.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(played.sent).toHaveLength(sent);
});
