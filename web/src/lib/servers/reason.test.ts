import { afterEach, expect, test } from 'vitest';

import { reader } from '../../i18n/catalogue.svelte';
import { Problem } from './api';
import { Declined, reasonOf } from './reason';
import { Malformed } from './shape';
import { LocalizedError } from './localized';

afterEach(() => (reader.language = 'en'));

test('what servers and the cryptography say in English is said in the reader’s language, and kept word for word', () => {
  reader.language = 'de';
  const refused = new Problem(403, 'the signer is not a host of this room');
  expect(reasonOf(refused, 'act')).toEqual({
    text: 'du leitest diesen Raum nicht, oder nicht mehr',
    detail: refused.message,
  });
  // The same status means something else elsewhere.
  expect(reasonOf(refused, 'claim').text).toContain('Einladung zurückgenommen');
  expect(reasonOf(new Problem(503, 'x'), 'claim').text).toContain(
    'die Server erreichen einander nicht',
  );
  expect(reasonOf(new Problem(418, 'teapot'), 'act')).toEqual({
    text: 'der Server hat es abgelehnt (Status 418)',
    detail: 'teapot',
  });
  expect(reasonOf(new Declined('closed', 'the room is closed')).text).toContain('geschlossen');
  for (const error of [new Declined('constructor', 'x'), new Malformed('x'), new TypeError('x')]) {
    expect(reasonOf(error).text).toContain('nicht so, wie diese Seite es erwartet');
    expect(reasonOf(error).detail).toContain('x');
  }
});

test('what is in the reader’s language already needs no more words', () => {
  expect(reasonOf(new LocalizedError('kein Netz'), 'act')).toEqual({
    text: 'kein Netz',
    detail: '',
  });
});
