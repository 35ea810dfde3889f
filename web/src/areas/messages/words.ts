// The sentences of this part of the page.

import { catalogue } from '../../i18n/catalogue.svelte';
import { de } from '../../i18n/de/chat';
import { en } from '../../i18n/en/chat';

export const t = catalogue({ en, de });

/** Why the client does not do something, as the cryptography says it: a kind, a bar, a sentence. */
export function refusalOf(error: unknown): { text: string; detail: string } {
  const said = error instanceof Error ? error.message : String(error);
  const bar = said.indexOf('|');
  const [kind, detail] = bar < 0 ? ['', said] : [said.slice(0, bar), said.slice(bar + 1)];
  const known = (t.refused as Partial<Record<string, string>>)[kind];
  return known === undefined ? { text: t.refused.other, detail } : { text: known, detail: '' };
}
