// What a host is told of how long the room keeps what is said.

import { render } from 'svelte/server';
import { expect, test } from 'vitest';

import Retention from './Retention.svelte';

test('a room says how long it keeps what is said, and what goes next', () => {
  const { body } = render(Retention, { props: { days: 30 } });
  expect(body).toContain('is erased after 30 days');
  expect(body).toMatch(/the servers erase what was published on \d+ \w+ \d{4} or before/);
  const kept = render(Retention, { props: { days: null } }).body;
  expect(kept).toContain('as long as the servers run');
  expect(kept).not.toContain('the servers erase');
});
