import { render } from 'svelte/server';
import { beforeAll, expect, test } from 'vitest';

import { canGoOn, ENGINE_NAMES, type Engine, type Policy } from '../../lib/hosts/hosting';
import { trustOf } from '../../lib/servers/trust';
import { loadForTest } from '../../test/world';
import { KIND_NAMES, newRoom, payloadOf, retentions, sizeOf, usual } from './settings';
import SettingsFields from './SettingsFields.svelte';

beforeAll(loadForTest);

const wide: Policy = {
  servers: 3,
  create: 'anyone',
  limits: { payload: [32, 4096], capacity: [3, 4096], seconds: [1, 604_800], retention: null },
};
const narrow: Policy = {
  servers: 3,
  create: 'anyone',
  limits: { payload: [32, 128], capacity: [3, 6], seconds: [60, 600], retention: 14 },
};

test('a row holds the longest message, and is never smaller than it must be', () => {
  for (const size of [1, 30, 254, 255, 1000]) {
    const payload = payloadOf(size);
    expect(payload % 8).toBe(0);
    expect(sizeOf(payload)).toBeGreaterThanOrEqual(size);
    expect(sizeOf(payload - 8)).toBeLessThan(size);
  }
});

test('the usual settings keep the limits of the servers', () => {
  for (const policy of [wide, narrow]) {
    for (const kind of KIND_NAMES) {
      const { size, seconds, capacity, minimum, retention, engine } = usual(kind, policy);
      expect(retentions(policy.limits.retention)).toContain(retention);
      const inside = (value: number, [least, most]: readonly [number, number]) =>
        value >= least && value <= most;
      expect(inside(payloadOf(size), policy.limits.payload)).toBe(true);
      expect(inside(seconds, policy.limits.seconds)).toBe(true);
      expect(inside(capacity, policy.limits.capacity)).toBe(true);
      expect(minimum).toBeGreaterThan(0);
      expect(minimum).toBeLessThanOrEqual(trustOf(engine, policy.servers).mostMinimum(capacity));
    }
  }
});

test('whether messages are approved first does not depend on the purpose', () => {
  for (const kind of KIND_NAMES) {
    expect(usual(kind, wide, true).moderated).toBe(true);
    expect(usual(kind, wide).moderated).toBe(false);
  }
});

test('texts are kept no longer than the servers allow', () => {
  expect(retentions(null)).toContain(null);
  expect(retentions(14)).toEqual([1, 7, 14]);
  expect(retentions(7)).toEqual([1, 7]);
});

test('what the engine does not offer is not asked for', () => {
  const settings = { ...usual('vote', wide), mode: 'robust' as const };
  expect(newRoom('Agora', '', 'ab', settings).mode).toBe('robust');
  expect(newRoom('Agora', '', 'ab', { ...settings, engine: 'clarion' }).mode).toBe('fair');
});

test('every engine can be chosen, and what it does not offer is not asked', () => {
  const shown = (engine: Engine) =>
    render(SettingsFields, {
      props: {
        settings: { ...usual('vote', wide), engine },
        limits: wide.limits,
        enough: 3,
        most: 16,
      },
    }).body;
  const checked = (body: string) =>
    [...body.matchAll(/<input[^>]*type="radio"[^>]*>/g)]
      .filter(([input]) => input.includes('checked'))
      .map(([input]) => /value="([a-z]+)"/.exec(input)?.[1]);
  for (const engine of ENGINE_NAMES) {
    const body = shown(engine);
    for (const name of ENGINE_NAMES) expect(body).toContain(`value="${name}"`);
    expect(checked(body)).toEqual(canGoOn(engine) ? [engine, 'fair'] : [engine]);
  }
});
