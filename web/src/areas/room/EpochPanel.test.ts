// How this device takes part, in words.

import { render } from 'svelte/server';
import { expect, test } from 'vitest';

import { NOBODY } from '../../lib/servers/trust';
import EpochPanel from './EpochPanel.svelte';

test('whoever waits for a place is told that others have them all', () => {
  const shown = (at: string, taken: number) =>
    render(EpochPanel, {
      props: {
        deployment: { capacity: 24, seconds: 6, people: 12, trust: NOBODY, operators: [] },
        view: {
          number: 8,
          waitsForStock: false,
          sealsAt: null,
          mixing: [],
          present: 25,
          missing: 0,
          taken,
          overdue: null,
        },
        before: undefined,
        part: { at, home: 0 },
        closed: false,
        minimum: 3,
      } as never,
    }).body;
  expect(shown('waiting', 24)).toContain('All 24 places of this epoch are taken.');
  expect(shown('waiting', 23)).toContain('You take part: waiting for a place');
  expect(shown('placed', 24)).toContain('you have a place in this epoch');
});
