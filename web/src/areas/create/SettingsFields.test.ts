import { render } from 'svelte/server';
import { beforeAll, expect, test } from 'vitest';

import { t } from '../../i18n/create';
import { loadForTest } from '../../test/world';
import SettingsFields from './SettingsFields.svelte';
import { usual } from './settings';

beforeAll(loadForTest);

test('a minimum that hides nobody is warned of, and no other one', () => {
  const policy = {
    servers: 3,
    create: 'anyone' as const,
    limits: {
      payload: [32, 4096] as [number, number],
      capacity: [3, 4096] as [number, number],
      seconds: [1, 604_800] as [number, number],
      retention: null,
    },
  };
  const shown = (minimum: number) => {
    const settings = { ...usual('lecture', policy), minimum };
    return render(SettingsFields, {
      props: { settings, limits: policy.limits, enough: 3, most: 16 },
    }).body;
  };
  expect(shown(1)).toContain(t.settings.noCrowd);
  expect(shown(2)).not.toContain(t.settings.noCrowd);
});
