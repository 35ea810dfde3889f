// What a person is told of the own message, stage by stage.

import { render } from 'svelte/server';
import { expect, test } from 'vitest';

import { t } from './messages';
import type { Here } from './mixing';
import Own from './Own.svelte';

/** What is told while the message is there, in a room of 128 places. */
function told(how: Partial<Here>): string | undefined {
  const here: Here = {
    entries: 3,
    epoch: 3,
    places: 100,
    rows: 90,
    waited: 1,
    mixing: 0,
    ready: 2,
    ended: null,
    convicted: [],
    silent: [],
    admitted: true,
    message: 'It is not yet light.',
    handed: false,
    covers: false,
    left_out: false,
    in: false,
    ...how,
  };
  const props = {
    here,
    news: null,
    limit: 280,
    places: 128,
    say: () => undefined,
    takeBack: () => null,
  };
  const body = render(Own, { props }).body.replaceAll(/<!--.*?-->/g, '');
  return /data-own="[^"]*"[^>]*>\s*<p[^>]*>\s*([^<]*?)\s*<\/p>/.exec(body)?.[1];
}

test('every stage of a message has its words', () => {
  expect(told({})).toBe(t.own.placed);
  expect(told({ epoch: null })).toBe(t.own.waiting);
  expect(told({ covers: true })).toBe(t.own.covered);
  expect(told({ handed: true })).toBe(t.own.handed);
  expect(told({ handed: true, in: true })).toBe(t.own.in);
});

test('who finds all places taken is told so', () => {
  expect(told({ places: 128, left_out: true })).toContain('All 128 places of this round are taken');
});

test('where no round can come it is told what is lacking', () => {
  const none = { epoch: null, ready: 0 } as const;
  expect(told({ ...none, ended: 'away' })).toBe(t.own.stuck.away);
  expect(told({ ...none, ended: 'convicted' })).toBe(t.own.stuck.convicted);
  // What is prepared is still to come.
  expect(told({ ...none, ready: 1, ended: 'away' })).toBe(t.own.waiting);
});
