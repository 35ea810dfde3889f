// What everybody is shown of servers that are away.

import { render } from 'svelte/server';
import { expect, test } from 'vitest';

import { t } from './messages';
import type { Here } from './mixing';
import Now from './Now.svelte';

/** What is shown of so many servers, one of which may fail. */
function shown(servers: number, how: Partial<Here>): string {
  const names = Array.from({ length: servers }, (_, i) => ({ name: `server-${i + 1}`, url: '' }));
  const about = { name: 'Agora', servers: names, corrupt: 1, places: 128, limit: 280 };
  const here: Here = {
    entries: 0,
    epoch: 0,
    places: 0,
    rows: 0,
    waited: 0,
    mixing: 0,
    ready: 2,
    ended: null,
    convicted: [],
    silent: [],
    admitted: true,
    message: null,
    handed: false,
    covers: false,
    left_out: false,
    in: false,
    ...how,
  };
  const props = { about: { ...about, seconds: 3, minimum: 4, open: true }, here };
  return render(Now, { props }).body.replaceAll(/<!--.*?-->/g, '');
}

/** What is read out by itself. */
const told = (body: string) => /<p[^>]*role="status"[^>]*>\s*([^<]*?)\s*<\/p>/.exec(body)?.[1];
/** How many servers are listed in the colour of alarm. */
const alarms = (body: string) => [...body.matchAll(/<li[^>]*class="[^"]*away/g)].length;

test('a server that is away is nothing to notice while rounds go on without it', () => {
  const body = shown(5, { silent: [4] });
  expect(told(body)).toBeUndefined();
  expect(alarms(body)).toBe(0);
  expect(body).toMatch(/class="hint[^>]*>\s*server-5 does not answer, of 5 servers\. Everything/);
});

test('it is told to everybody where new rounds need it', () => {
  const body = shown(4, { silent: [3], ended: 'away' });
  expect(told(body)).toBe(t.servers.silent(['server-4'], 4, 1, false));
  expect(alarms(body)).toBe(1);
});

test('too many that are away stop the room, whatever could be prepared', () => {
  const body = shown(6, { silent: [4, 5] });
  expect(told(body)).toContain('nothing goes on until some are back');
  expect(alarms(body)).toBe(2);
});

test('who was caught lying is shown although rounds go on', () => {
  const body = shown(5, { convicted: [{ server: 2, deed: 'other_seed' }] });
  expect(alarms(body)).toBe(1);
  expect(body).toContain('server-3 was caught lying');
});

test('that all are there is told', () => {
  const body = shown(4, {});
  expect(told(body)).toBe(t.servers.fine(4));
  expect(alarms(body)).toBe(0);
});

test('of how many rounds are left, and what then, everybody is told in plain words', () => {
  const body = shown(4, { silent: [3], ended: 'away', ready: 2 });
  expect(body).toContain('2 further rounds are prepared. No more can be prepared while servers');
  const none = shown(4, { silent: [3], ended: 'away', ready: 0, epoch: null });
  expect(none).toContain('No round is open now.');
  expect(none).toMatch(/No further round is prepared\..*the room waits; nothing is lost\./s);
});
