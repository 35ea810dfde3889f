// Why a history is not believed, in the reader's language.

import { t } from '../../messages/decision';
import { readFinding, type Finding } from '../decisions/decision';

export interface Doubt {
  finding: Finding;
  /** The cryptography's own sentence, in English. */
  detail: string;
}

/** Two servers show different histories. */
export const different: Doubt = {
  finding: { kind: 'different' },
  detail: 'the servers show different histories',
};

/** What is the matter, from an error of whoever verifies. */
export function doubtOf(error: unknown, verifier: { finding(): string | undefined }): Doubt {
  return {
    finding: readFinding(verifier.finding()),
    detail: error instanceof Error ? error.message : String(error),
  };
}

/** A sentence without a full stop. */
export function sentenceOf({ finding, detail }: Doubt): string {
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
