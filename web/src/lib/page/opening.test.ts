import { beforeAll, expect, test } from 'vitest';

import { loadForTest } from '../../test/world';
import { hostLink, roomLink } from './addresses';
import { DeviceKey } from './cryptography';
import { addressOf } from './opening';

beforeAll(loadForTest);

const HERE = 'https://a.example';
const pin = { room: '0f'.repeat(16), servers: 'ab'.repeat(32) };
const place = `${pin.room}/${pin.servers}`;

test('a host link opens the host’s page, here or at its own servers', () => {
  const seed = DeviceKey.fromSeed(new Uint8Array(32).fill(7)).invitation();
  const link = hostLink(HERE, pin, seed);
  expect(addressOf(` ${link}\n`, HERE)).toBe(`#/host/${place}/${seed}`);
  expect(addressOf(link, 'https://b.example')).toBe(link);
  // Where this browser keeps the key, the link need not name it.
  expect(addressOf(`${HERE}/#/host/${place}`, HERE)).toBe(`#/host/${place}`);
  for (const wrong of [
    link.slice(0, -1),
    `${link}0`,
    `${link}/x`,
    link.replace('https', 'ftp'),
    link.replace('/host/', '/hosts/'),
    `${link} ${link}`,
  ]) {
    expect(addressOf(wrong, HERE), wrong).toBe(null);
  }
});

test('links to rooms and decisions and codes lead where they did', () => {
  expect(addressOf(roomLink(HERE, pin), HERE)).toBe(`/#/room/${place}`);
  const invitation = DeviceKey.fromSeed(new Uint8Array(32).fill(8)).invitation();
  expect(addressOf(roomLink(HERE, pin, invitation), HERE)).toBe(`/#/room/${place}/${invitation}`);
  expect(addressOf(roomLink('https://b.example', pin), HERE)).toBe(
    `https://b.example/#/room/${place}`,
  );
  expect(addressOf(`${HERE}/#/decision/${place}`, HERE)).toBe(`#/decision/${place}`);
  expect(addressOf(`https://b.example/#/decision/${place}`, HERE)).toBe(
    `https://b.example/#/decision/${place}`,
  );
  expect(addressOf('7f3k q2ma', HERE)).toBe('#/code/7F3K-Q2MA');
  for (const nothing of ['', 'hello', `${HERE}/#/decision/x`, `${HERE}/#/room/x`])
    expect(addressOf(nothing, HERE), nothing).toBe(null);
});
