// Sentences about a ballot.

import { spanOf, ruleName, type Ballot, type Meaning } from '../../lib/decisions/decision';
import { t } from '../../i18n/decision';

/** What a ballot is about: a date in the reader's own words and zone. */
export function labelOf({ label }: Ballot): string {
  const span = spanOf(label);
  return span === null ? label : t.span(span);
}

/** How a ballot is decided, and what comes out. */
export function ruleText({ function: rule, options }: Ballot): string {
  const counted = options[1] ?? '';
  if (typeof rule === 'object') {
    if ('at-least' in rule) return t.rules['at-least'](counted, rule['at-least'].k);
    if ('plurality' in rule) return t.rules.plurality[rule.plurality.tie];
    return t.rules.custom;
  }
  return rule === 'tally' ? t.rules.tally : t.rules[rule](counted);
}

/** What came out of a ballot, where it is one thing. */
export function meaningText({ options }: Ballot, meaning: Meaning): string {
  if (meaning === 'tie') return t.result.tie;
  if ('passed' in meaning) return meaning.passed ? t.result.passed : t.result.failed;
  if ('odd' in meaning) return (meaning.odd ? t.result.odd : t.result.even)(options[1] ?? '');
  if ('option' in meaning) return t.result.option(options[meaning.option] ?? '');
  return 'value' in meaning ? t.result.value(meaning.value) : t.result.counts;
}

export const isTable = (ballot: Ballot): boolean => ruleName(ballot.function) === 'custom';
