// Why a history is not believed, in the reader's language.

import { t } from '../../i18n/decision';
import type { Finding } from '../decisions/decision';

export interface Rejection {
  finding: Finding;
  /** The cryptography's own sentence, in English. */
  detail: string;
}

/** What was found is not what honest servers show: nothing may be answered. */
export class Refused extends Error {
  constructor(readonly doubt: Rejection) {
    super(doubt.detail);
  }
}

/** Two servers show different histories. */
export const different: Rejection = {
  finding: { kind: 'different' },
  detail: 'the servers show different histories',
};

/** A sentence without a full stop. */
export function sentenceOf({ finding, detail }: Rejection): string {
  switch (finding.kind) {
    case 'other':
    case 'no-result':
      return detail.replace(/[.\s]+$/, '');
    case 'different':
      return t.different;
    case 'step':
      return t.found.step(finding.number, finding.name);
    case 'shorter':
      return t.found.shorter(finding.shown, finding.seen);
    case 'opening':
      return t.found.opening(finding.party + 1);
    default:
      return t.found[finding.kind](finding.number);
  }
}
