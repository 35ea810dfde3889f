import { expect, test } from 'vitest';

import { ROUTES, placeOf, serverKind } from './routes';

const [room, servers, seed] = ['0f'.repeat(16), 'ab'.repeat(32), 'A-_'.repeat(14) + '7'];

test('an address names a room and its servers, or is said to name none', () => {
  expect(placeOf(`#/room/${room}/${servers}`).params).toEqual({ room, servers });
  expect(placeOf(`#/room/${room}/${servers}/${seed}`).params).toEqual({ room, servers, seed });
  const wrong = [
    `#/room/${room}/${servers}0`,
    `#/room/${room.toUpperCase()}/${servers}`,
    `#/room/${room}/${servers}/${seed}=`,
  ];
  for (const hash of [...wrong, '#/nowhere', '#/\n'])
    expect(placeOf(hash).params).toEqual({ broken: hash });
});

test('an address names a code', () => {
  expect(placeOf('#/code/7F3K-Q2MA').params).toEqual({ code: '7F3K-Q2MA' });
  expect(placeOf('#/code/7F3K/Q2MA').params).toEqual({ broken: '#/code/7F3K/Q2MA' });
});

test('an address names a decision, with an invitation or without', () => {
  const decision = room;
  expect(placeOf(`#/decision/${decision}/${servers}`).params).toEqual({ decision, servers });
  expect(placeOf(`#/decision/${decision}/${servers}/${seed}`).params).toEqual({
    decision,
    servers,
    seed,
  });
  expect(placeOf(`#/decision/${decision}`).params).toEqual({ broken: `#/decision/${decision}` });
});

test('an empty address is the start page', () => {
  for (const hash of ['', '#', '#/'])
    expect(placeOf(hash)).toEqual({ route: ROUTES[0], params: {} });
});

test('a server says in its address what it is for, and has that only', () => {
  const mix = 'cd'.repeat(32);
  expect(serverKind('')).toBe('rooms');
  expect(serverKind('?committee')).toBe('committee');
  expect(serverKind(`?mix=${mix}`)).toBe('mix');
  expect(serverKind('?mix=there')).toBe('rooms');
  expect(placeOf(`#/mix/${mix}`, 'mix').params).toEqual({ digest: mix });
  expect(placeOf('#/operator', 'mix').params).toEqual({});
  for (const hash of ['#/create', '#/decide', '#/ask', `#/room/${room}/${servers}`])
    expect(placeOf(hash, 'mix').params).toEqual({ broken: hash });
  expect(placeOf('#/ask', 'committee').params).toEqual({});
  expect(placeOf('#/create', 'committee').params).toEqual({ broken: '#/create' });
  // A page that was kept on the device does not know whose it is.
  expect(placeOf(`#/mix/${mix}`, 'rooms').params).toEqual({ digest: mix });
});
