import { beforeAll, expect, test } from 'vitest';

import { loadForTest } from '../../test/world';
import { DeviceKey, HostLog, InvitationClaim } from '../page/cryptography';
import { LogBook, marksOf, type LogView } from './hostlog';

beforeAll(loadForTest);

const SERVERS = JSON.stringify({
  you: 0,
  session: '09'.repeat(32),
  servers: [{ party: 0, name: '', url: '', key: '07'.repeat(32) }],
});
const host = () => DeviceKey.fromSeed(new Uint8Array(32).fill(7));
const key = (seed: number) => DeviceKey.fromSeed(new Uint8Array(32).fill(seed));

function room(): string {
  return JSON.stringify({
    name: 'r',
    purpose: '',
    host: host().publicKey(),
    admission: 'members',
    retention_days: null,
    engine: 'ruffle',
    mode: 'fair',
    payload: 256,
    capacity: 64,
    seconds: 6,
    minimum: 1,
    nonce: Array(16).fill(0),
  });
}

/** A log that grows, a book that is kept of it, and all actions. */
class Scene {
  readonly log = new HostLog(SERVERS, room());
  readonly book = new LogBook();
  readonly actions: unknown[] = [];
  view: LogView | undefined;

  act(deed: unknown): void {
    this.take(this.log.act(host(), 1n, JSON.stringify(deed)));
  }

  take(signed: string): void {
    this.log.read(`[${signed}]`);
    this.actions.push(JSON.parse(signed));
    this.view = this.book.take(this.log.changes());
    expect(this.view).toEqual(this.afresh());
  }

  /** As whoever comes now reads it. */
  private afresh(): LogView {
    const log = new HostLog(SERVERS, room());
    log.read(JSON.stringify(this.actions));
    const view = new LogBook().take(log.changes());
    // In what order things were noted tells nothing.
    const order = new Map(
      this.view?.marks.map(({ epoch, index }, place) => [`${epoch}/${index}`, place]),
    );
    const place = ({ epoch, index }: { epoch: number; index: number }) =>
      order.get(`${epoch}/${index}`) ?? -1;
    return { ...view, marks: view.marks.toSorted((a, b) => place(a) - place(b)) };
  }
}

test('a log that is followed action by action is the log as a whole', () => {
  const scene = new Scene();
  const [link, device, listed, unused] = [key(1), key(2), key(3), key(4)].map((one) =>
    one.publicKey(),
  );
  const target = { epoch: 3, index: 0 };
  scene.act({ pin: { target, pinned: true } });
  scene.act({ group: { target: { epoch: 2, index: 4 }, group: 'bread' } });
  scene.act({ pin: { target, pinned: false } });
  scene.act({
    poll: {
      poll: { question: 'Q', form: { choice: { options: ['a', 'b'], several: false } }, epoch: 9 },
    },
  });
  scene.act({
    poll: {
      poll: {
        question: 'R',
        form: { messages: { targets: [{ epoch: 2, index: 4 }, target] } },
        epoch: 10,
      },
    },
  });
  scene.act({ reveal: { poll: 3, right: [1] } });
  scene.act({ withdraw: { poll: 4 } });
  scene.act({ spotlight: { target } });
  scene.act({ invite: { keys: [link, unused] } });
  scene.act({ admit: { keys: [listed] } });
  expect(scene.view?.invitations.map(({ number, claimed }) => [number, claimed])).toEqual([
    [1, null],
    [2, null],
  ]);
  scene.take(placed(scene, claimed()));
  expect(scene.view?.members).toContain(device);
  scene.act({ dismiss: { keys: [unused, listed] } });
  expect(scene.view?.former).toEqual(new Set([unused, listed]));
  // An invitation falls with the key that claimed it, and stands with it again.
  scene.act({ dismiss: { keys: [device] } });
  expect(scene.view?.invitations).toEqual([]);
  expect(scene.view?.former.has(device ?? '')).toBe(true);
  scene.act({ invite: { keys: [link] } });
  expect(scene.view?.members).toEqual([device]);
  scene.act({ moderate: { on: true } });
  scene.act('close');
  expect(scene.view?.polls.map(({ right, withdrawn }) => [right, withdrawn])).toEqual([
    [[1], false],
    [null, true],
  ]);
  expect(scene.view?.spotlight).toEqual(target);
});

/** The claim of the first key by the second. */
function claimed(): Record<string, string> {
  const claiming = new InvitationClaim(SERVERS, room(), key(1), key(2), new Uint8Array(32));
  claiming.wake(1_000);
  const [{ body }] = JSON.parse(claiming.actions()) as [{ body: string }];
  return JSON.parse(body) as Record<string, string>;
}

/** A claim in its place in the log, as the first server puts it there. */
function placed(scene: Scene, signed: Record<string, string>): string {
  const { length, head } = scene.view ?? { length: 0, head: '' };
  const deed = { claim: { key: signed['key'], signature: signed['key_signature'] } };
  return JSON.stringify({
    action: { number: length, previous: head, author: signed['invitation'], time: 0, deed },
    signature: signed['invitation_signature'],
  });
}

test('what is not new is not told again', () => {
  const log = new HostLog(SERVERS, room());
  const pin = (index: number) =>
    JSON.stringify({ pin: { target: { epoch: 1, index }, pinned: true } });
  log.read(`[${log.act(host(), 1n, pin(0))}]`);
  log.changes();
  log.read(`[${log.act(host(), 1n, pin(1))}]`);
  expect((JSON.parse(log.changes()) as LogView).marks.map(({ index }) => index)).toEqual([1]);
  expect((JSON.parse(log.changes()) as LogView).marks).toEqual([]);
});

test('everything is erased when all is', () => {
  const scene = new Scene();
  scene.act('erase-all');
  expect(scene.view && marksOf(scene.view)(5, 5)?.erased).toBe(true);
});
