// What servers say of a room, in the order in which they say it.

import { expect, test } from 'vitest';

import { World } from '../../../test/world';

test('an epoch that waits for company was to be sealed when it was, not anew at every word', async () => {
  const world = new World();
  const due = () => world.statuses.reports[0]?.sealsAt;
  const began = world.clock.now();
  world.collect(4, 2_000);
  expect(due()).toBe(began + 2_000);
  await world.clock.advance(5_000);
  world.collect(4, 0);
  expect(due()).toBe(began + 2_000);
  // What a server says of the time that is left counts, and so does the next epoch.
  world.collect(4, 1_000);
  expect(due()).toBe(began + 6_000);
  world.collect(5, 0);
  expect(due()).toBe(began + 5_000);
});
