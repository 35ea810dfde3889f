import { render } from 'svelte/server';
import { expect, test } from 'vitest';

import { t } from '../../messages/create';
import SettingsFields from './SettingsFields.svelte';
import { usual } from './settings';

test('a minimum that hides nobody is warned of, and no other one', () => {
  const policy = {
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
    return render(SettingsFields, { props: { settings, limits: policy.limits } }).body;
  };
  expect(shown(1)).toContain(t.settings.noCrowd);
  expect(shown(2)).not.toContain(t.settings.noCrowd);
});
