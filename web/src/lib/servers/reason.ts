// Why something was not done, in the reader's language. Servers and the cryptography give their
// reasons in English; what they say is kept for those who want to know exactly.

import { t } from '../../i18n/reason';
import { Problem } from './api';
import { LocalizedError } from './localized';

/** The host log does not take an action; `code` names the kind of refusal. */
export class Declined extends Error {
  constructor(
    readonly code: string,
    detail: string,
  ) {
    super(detail);
  }
}

export interface Reason {
  /** A clause in the reader's language. */
  text: string;
  /** What was said, in English; empty if the clause says it all. */
  detail: string;
}

/** What was asked of a server: the same status means something else at another place. */
export type Asked = keyof typeof t.asked;

/** The reason of an error that came of what was `asked`. */
export function reasonOf(error: unknown, asked: Asked = 'room'): Reason {
  if (error instanceof LocalizedError) return { text: error.message, detail: error.detail };
  const detail = error instanceof Error ? error.message : String(error);
  if (error instanceof Declined)
    return { text: lookUp(t.declined, error.code) ?? t.unexpected, detail };
  if (!(error instanceof Problem)) return { text: t.unexpected, detail };
  const known = lookUp(t.asked[asked], error.status) ?? lookUp(t.status, error.status);
  return { text: known ?? t.refused(error.status), detail };
}

function lookUp(
  sentences: Partial<Record<string, string>>,
  name: string | number,
): string | undefined {
  return Object.hasOwn(sentences, name) ? sentences[name] : undefined;
}
