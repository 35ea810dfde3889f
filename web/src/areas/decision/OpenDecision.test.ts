// What is shown of a decision after its close.

import { render } from 'svelte/server';
import { expect, test } from 'vitest';

import type { Outcome, View } from '../../lib/decisions/decision';
import type { Doubt } from '../../lib/servers/doubt';
import OpenDecision from './OpenDecision.svelte';

const view: View = {
  decision: 'ab',
  servers: 'cd',
  question: 'Shall we?',
  ballots: [{ label: '', options: ['No', 'Yes'], function: 'majority', assumed: 0 }],
  people: [
    { name: 'Anna', part: { answered: 3 }, verified: false },
    { name: 'Carla', part: 'absent', verified: false },
  ],
  threshold: 2,
  accept_by: 0,
  all_needed: false,
  deadline: 1,
  quorum: 2,
  lapses: null,
  ended_at: 1,
  warnings: [],
  stage: 'closed',
  records: 5,
  head: 'ef',
  missing: [],
  answered: 1,
  remaining: 2,
  creator: 'a1',
  owners: ['a1', 'c1'],
  seats: [{ account: 'a1' }, { account: 'c1' }],
};

function shown(
  unresolved: Doubt | null,
  outcome: Outcome | null = null,
  change: { view?: Partial<View>; session?: object } = {},
): string {
  const session = {
    person: 0,
    account: { key: { publicKey: () => 'a1' } },
    alarms: [],
    refusals: [0, 1, 2].map((party) => ({
      party,
      server: `server ${party}`,
      detail: 'too few stand in for Carla',
    })),
    unresolved,
    outcome,
    complaint: null,
    doing: null,
    checked: null,
    invitedAs: null,
    place: { invitation: undefined },
    ...change.session,
  };
  return render(OpenDecision, { props: { session, view: { ...view, ...change.view } } as never })
    .body;
}

test('where too few stand in for somebody, that is said, nobody is accused, and the people stay on the page', () => {
  const page = shown({
    finding: { kind: 'no-result' },
    detail: 'there is no result: only server 1 could',
  });
  expect(page).toContain('data-decision="unresolved"');
  expect(page).toContain('There is no result');
  expect(page).toContain('only server 1 could');
  expect(page).not.toContain('does not open it');
  expect(page).toContain('data-person="Carla"');
});

test('before that, servers that do not open it are named, and a result is a result', () => {
  expect(shown(null)).toContain('does not open it');
  expect(shown(null, { outputs: [1], meanings: [{ passed: true }] })).toContain(
    'data-decision="result"',
  );
});

test('who was taken off the list is told so, and not asked for an answer or told that somebody else came', () => {
  const people: View['people'] = [
    { name: 'Anna', part: 'accepted', verified: false },
    { name: 'Ben', part: 'removed', verified: false },
  ];
  const someone = { account: { key: { publicKey: () => 'b1' } } };
  for (const stage of ['accepting', 'answering'] as const) {
    const byAccount = shown(null, null, {
      view: { stage, people },
      session: { ...someone, person: 1 },
    });
    const byLink = shown(null, null, {
      view: { stage, people },
      session: { ...someone, person: null, invitedAs: 1, place: { invitation: 'secret' } },
    });
    for (const page of [byAccount, byLink]) {
      expect(page).toContain('data-decision="removed"');
      expect(page).toContain('has taken you off its list');
      expect(page).not.toContain('was used');
    }
  }
});
