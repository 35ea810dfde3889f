// Why a history is not believed, in the reader's language.

import { t } from '../../i18n/decision';
import { readFinding, type Finding } from '../decisions/decision';

export interface Rejection {
  finding: Finding;
  /** The cryptography's own sentence, in English. */
  detail: string;
}

/** Two servers show different histories. */
export const different: Rejection = {
  finding: { kind: 'different' },
  detail: 'the servers show different histories',
};

/** What is the matter, from an error of whoever verifies. */
export function rejectionOf(
  error: unknown,
  verifier: { finding(): string | undefined },
): Rejection {
  return {
    finding: readFinding(verifier.finding()),
    detail: error instanceof Error ? error.message : String(error),
  };
}

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
