// The second visit, as an entry for a calendar.

import { calendar } from '../../../lib/decisions/asking/calendar';
import type { View } from '../../../lib/decisions/decision';
import { decisionLink } from '../../../lib/page/addresses';
import { t } from '../../../i18n/decision';

/** Minutes that an answer takes, generously. */
const MINUTES = 15;

type Decision = Pick<View, 'decision' | 'servers' | 'question' | 'accept_by'>;

/** The calendar's file. The link in it carries no invitation: that is spent by then. */
export function secondVisit(view: Decision, origin: string, now: number): string {
  const link = decisionLink(origin, view.decision, view.servers);
  const title = t.accept.reminder(view.question);
  const span = { from: view.accept_by * 1000, to: null, whole: false };
  const entry = { id: `${view.decision}-answer`, title, span };
  return calendar({ ...entry, minutes: MINUTES, link }, now);
}
