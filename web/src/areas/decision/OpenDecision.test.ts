// What is shown of a decision as it goes on, and after its close.

import { render } from 'svelte/server';
import { expect, test } from 'vitest';

import type { Outcome, View } from '../../lib/decisions/decision';
import type { Rejection } from '../../lib/servers/rejection';
import { reader } from '../../i18n/catalogue.svelte';
import { t } from '../../i18n/decision';
import OpenDecision from './OpenDecision.svelte';
import { secondVisit } from './parts/reminder';

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
  unresolved: Rejection | null,
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

/** As its creator sees it, who does not decide, and has the links. */
function asCreator(change: Partial<View>): string {
  const known = { id: 'ab', invitations: [null, 'secret'], letters: null };
  const account = { key: { publicKey: () => 'a1' }, known: () => [known] };
  const link = (invitation: string | null) => `LINK/${invitation}`;
  return shown(null, null, { view: change, session: { account, link, person: null } });
}

/** The text of the e-mail that the creator can write to somebody. */
function letterIn(page: string): string {
  const [, query = ''] = /href="mailto:\?(.+?)"/.exec(page) ?? [];
  return new URLSearchParams(query.replaceAll('&amp;', '&')).get('body') ?? '';
}

const [ACCEPT_BY, DEADLINE] = [
  Date.UTC(2027, 0, 2, 3, 4) / 1000,
  Date.UTC(2027, 5, 6, 7, 8) / 1000,
];
const accepting: Partial<View> = {
  stage: 'accepting',
  people: [
    { name: 'Anna', part: 'accepted', verified: false },
    { name: 'Ben', part: 'invited', verified: false },
  ],
  seats: [{ account: 'a1' }, { invitation: 'b1' }],
  accept_by: ACCEPT_BY,
  deadline: DEADLINE,
};
const answering: Partial<View> = {
  ...accepting,
  stage: 'answering',
  people: [
    { name: 'Anna', part: { answered: 3 }, verified: false },
    { name: 'Ben', part: 'accepted', verified: false },
  ],
};

test('the creator is told what comes without somebody, and everybody by when to accept', () => {
  const at = ACCEPT_BY * 1000;
  const page = asCreator(accepting);
  expect(page).toContain('data-without="goes-on"');
  expect(page).toContain(t.creator.without(['Ben'], at));
  expect(page).toContain(t.acceptBy(at));
  const needed = asCreator({ ...accepting, lapses: 'all are needed' });
  expect(needed).toContain('data-without="ends"');
  expect(needed).toContain(t.creator.ends(['Ben'], at));
  expect(asCreator(answering)).not.toContain('data-without');
});

test('the creator’s e-mail names both visits and their dates, or that only the answer is missing', () => {
  for (const [language, two, already, accept, answer, without, ends] of [
    [
      'en',
      'twice, shortly',
      'accepted already',
      '2 January 2027',
      '6 June 2027',
      'or the time for it is over',
      'it ends without a result',
    ],
    [
      'de',
      'zweimal kurz',
      'schon angenommen',
      '2. Januar 2027',
      '6. Juni 2027',
      'oder die Zeit dafür vorbei ist',
      'endet es ohne Ergebnis',
    ],
  ] as const) {
    reader.language = language;
    const [first, reminder] = [letterIn(asCreator(accepting)), letterIn(asCreator(answering))];
    const needed = letterIn(asCreator({ ...accepting, all_needed: true }));
    for (const [letter, goesOn] of [
      [first, true],
      [needed, false],
    ] as const) {
      expect(letter.includes(without)).toBe(goesOn);
      expect(letter.includes(ends)).toBe(!goesOn);
    }
    for (const words of ['Ben', two, accept, answer, 'LINK/secret']) expect(first).toContain(words);
    expect(first).not.toContain(already);
    for (const words of ['Ben', already, answer, 'LINK/secret']) expect(reminder).toContain(words);
    expect(reminder).not.toContain(accept);
  }
  reader.language = 'en';
});

test('who had not accepted in time is told so, whether it goes on without or has ended by it', () => {
  const late: View['people'] = [
    { name: 'Anna', part: 'accepted', verified: false },
    { name: 'Ben', part: 'late', verified: false },
  ];
  const ben = { account: { key: { publicKey: () => 'b1' } }, person: 1 };
  const page = shown(null, null, { view: { ...answering, people: late }, session: ben });
  expect(page).toContain('data-decision="late"');
  expect(page).toContain(t.late);
  const ended = shown(null, null, { view: { ...accepting, stage: 'lapsed' }, session: ben });
  expect(ended).toContain('data-decision="lapsed"');
  expect(ended).toContain(t.lapsed.accepted(['Ben']));
  const few = shown(null, null, { view: { ...answering, stage: 'lapsed' }, session: ben });
  expect(few).toContain(t.lapsed.few(1, 2));
});

test('a result says who had not accepted in time, and that nobody stayed away only if nobody did', () => {
  const outcome = { outputs: [1], meanings: [{ passed: true }] };
  const resultOf = (...parts: View['people'][number]['part'][]) => {
    const people = parts.map((part, place) => ({ name: `P${place}`, part, verified: false }));
    return shown(null, outcome, { view: { people } });
  };
  const [anna, ben] = [{ answered: 3 }, { answered: 4 }];
  expect(resultOf(anna, ben)).toContain(t.result.nobody);
  const late = resultOf(anna, 'late');
  expect(late).toContain(t.result.late(['P1']));
  expect(late).not.toContain(t.result.nobody);
  const both = resultOf(anna, 'absent', 'late');
  expect(both).toContain(t.result.absent(['P1']));
  expect(both).toContain(t.result.late(['P2']));
});

test('where it does not go on without somebody, nobody is told that answers are taken all the same', () => {
  const people: View['people'] = [
    { name: 'Anna', part: 'accepted', verified: false },
    { name: 'Ben', part: 'invited', verified: false },
  ];
  const account = { key: { publicKey: () => 'b1' } };
  const seen = (change: Partial<View>, person: number) =>
    shown(null, null, { view: { ...accepting, people, ...change }, session: { account, person } });
  const [goesOn, ends] = [
    /at the latest from|or the time to accept is over/,
    'ends without a result',
  ];
  for (const person of [0, 1]) {
    const usual = seen({ remaining: 4, quorum: 3 }, person);
    expect(usual).toMatch(goesOn);
    expect(usual).not.toContain(ends);
    for (const all of [{ all_needed: true }, { all_needed: true, quorum: 4 }]) {
      const page = seen({ remaining: 4, quorum: 3, ...all }, person);
      expect(page).toContain(ends);
      expect(page).not.toMatch(goesOn);
    }
  }
});

test('that it ended before the deadline is said where all had answered, and only there', () => {
  const ended = { ended_at: DEADLINE - 60, deadline: DEADLINE };
  const early = t.early((DEADLINE - 60) * 1000);
  expect(shown(null, null, { view: ended })).toContain(early);
  const after = shown(null, null, { view: { ...ended, ended_at: DEADLINE + 60 } });
  expect(after).toContain(t.ended((DEADLINE + 60) * 1000));
  expect(shown(null, null, { view: { ...ended, missing: [1] } })).not.toContain(early);
});

test('nobody is said to stand in where all must answer', () => {
  const three = { ...accepting, remaining: 3, threshold: 2 };
  const all = asCreator({ ...three, quorum: 3 });
  expect(all).toContain(t.answer.stands.all);
  expect(all).not.toMatch(/Whoever stays away counts|give the assumed answer/);
  const some = asCreator({ ...three, remaining: 4, quorum: 3 });
  expect(some).toContain(t.answer.stands[2]);
  expect(some).toContain(t.answer.assumed('No'));
  expect(asCreator({ ...three, quorum: 3, threshold: 0 })).toContain(t.answer.stands[0]);
});

test('the calendar’s entry of the second visit has the date, the question, and no invitation', () => {
  const lines = secondVisit({ ...view, accept_by: ACCEPT_BY }, 'https://a.example', 0).split(
    '\r\n',
  );
  for (const line of [
    'DTSTART:20270102T030400Z',
    'DTEND:20270102T031900Z',
    'SUMMARY:Answer: Shall we?',
    'URL:https://a.example/#/decision/ab/cd',
  ])
    expect(lines).toContain(line);
});

test('two people are warned before they accept that a result tells each other’s answers', () => {
  const people: View['people'] = [
    { name: 'Anna', part: 'invited', verified: false },
    { name: 'Ben', part: 'invited', verified: false },
  ];
  const two = { ...accepting, people, warnings: [{ kind: 'two-people' as const }] };
  expect(shown(null, null, { view: two, session: { account: null } })).toContain(
    t.warnings['two-people'],
  );
});
