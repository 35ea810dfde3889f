import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { Played, atOnce, scriptOf, written, type HostScript } from '../../../test/visits';
import { loadForTest } from '../../../test/world';
import type { Failure } from '../../hosts/acting';
import { EMPTY_LOG } from '../../hosts/hostlog';
import { DeviceKey, InvitationClaim } from '../../page/cryptography';
import { claimedBy, takeInvitation } from './claiming';

beforeAll(loadForTest);
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

test('an invitation is open, ours, or used by somebody else', () => {
  const log = {
    ...EMPTY_LOG,
    former: new Set(['d']),
    invitations: [
      { key: 'a', number: 1, claimed: null },
      { key: 'b', number: 2, claimed: 'k' },
    ],
  };
  expect(claimedBy(log, 'a', 'k')).toBe('open');
  expect(claimedBy(log, 'b', 'k')).toBe('ours');
  expect(claimedBy(log, 'b', 'other')).toBe('used');
  expect(claimedBy(log, 'c', 'k')).toBe('unknown');
  expect(claimedBy(log, 'd', 'k')).toBe('withdrawn');
});

test('the page takes an invitation as the script says, and not any more once it has left', async () => {
  const script = scriptOf<HostScript>('claim');
  const played = new Played(script);
  vi.setSystemTime(script.start);
  const [key, invitation] = [script.key, script.invitation ?? []].map((seed) =>
    DeviceKey.fromSeed(Uint8Array.from(seed)),
  ) as [DeviceKey, DeviceKey];
  const documents = [JSON.stringify(script.servers), JSON.stringify(script.descriptor)] as const;
  const seed = Uint8Array.from(script.seed);
  const machine = new InvitationClaim(...documents, invitation, key, seed);
  const stop = new AbortController();
  const told: (Failure | null)[] = [];
  const server = (party: number) => played.server(party, atOnce);
  takeInvitation(machine, [0, 1, 2].map(server), atOnce, stop.signal, (failure) =>
    told.push(failure),
  );
  await vi.advanceTimersByTimeAsync(script.lasts - 1);
  expect(script.exchanges.length).toBeGreaterThan(2);
  expect(played.sent).toEqual(written(script));
  expect(told.slice(0, 2)).toEqual([
    { kind: 'server', status: 429, detail: 'no' },
    { kind: 'away' },
  ]);
  expect(told.at(-1)).toBe(null);
  stop.abort();
  const sent = played.sent.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(played.sent).toHaveLength(sent);
});
