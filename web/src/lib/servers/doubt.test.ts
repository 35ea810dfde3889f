import { afterEach, expect, test } from 'vitest';

import { reader } from '../../i18n/catalogue.svelte';
import { t } from '../../i18n/decision';
import type { Finding } from '../decisions/decision';
import { sentenceOf } from './rejection';

afterEach(() => (reader.language = 'en'));

const said = (finding: Finding, detail: string) => sentenceOf({ finding, detail });

test('what was found is said in the reader’s language, and names who signed it', () => {
  reader.language = 'de';
  expect(said({ kind: 'step', number: 5, name: 'Ben' }, 'wrong')).toBe(
    'die Antwort in Eintrag 5, die „Ben“ unterschrieben hat, ist falsch',
  );
  expect(said({ kind: 'signature', number: 1 }, 'wrong')).toContain('Eintrag 1 ist nicht');
  expect(said({ kind: 'shorter', shown: 3, seen: 9 }, 'wrong')).toContain('9');
  reader.language = 'en';
  expect(said({ kind: 'opening', party: 0 }, 'wrong')).toBe('what server 1 has opened is wrong');
  for (const kind of ['decision', 'rule', 'key', 'forked'] as const)
    expect(said({ kind, number: 7 }, 'wrong')).toContain('record 7');
});

test('what has no sentence of its own is said as the cryptography says it', () => {
  expect(said({ kind: 'other' }, 'the draft is too long.')).toBe('the draft is too long');
  expect(said({ kind: 'no-result' }, 'too few stand in')).toBe('too few stand in');
});

test('that no answer was sent is said only where none may have left', () => {
  for (const [language, none] of [
    ['en', 'No answer was sent'],
    ['de', 'keine Antwort gesendet'],
  ] as const) {
    reader.language = language;
    expect(t.refused.text('x', false)).toContain(none);
    expect(t.refused.text('x', true)).not.toContain(none);
  }
});
