import { beforeAll, expect, test } from 'vitest';

import { loadForTest } from '../../../test/world';
import { Deployment, DeviceKey, DecisionBeginning } from '../../page/cryptography';
import {
  allMustAnswer,
  complaintOf,
  dateAnswers,
  datesOf,
  daysFrom,
  draftOf,
  forTopic,
  limits,
  nextDay,
  rulesFor,
  withOption,
  withoutOption,
  type Wish,
} from './draft';
import type { Guest } from './guests';

beforeAll(loadForTest);

const NOW = Date.UTC(2026, 10, 22);
const wish: Wish = {
  topic: 'question',
  question: ' Shall we? ',
  options: ['No', 'Yes'],
  dates: [''],
  needBe: false,
  rule: 'majority',
  enough: 1,
  tie: 'none',
  outputs: [],
  assumed: 0,
  acceptBy: '2026-11-26T12:00',
  allNeeded: false,
  quorum: null,
  deadline: '2026-11-29T12:00',
  threshold: 2,
};

/** People without accounts. */
const invited = (...names: string[]): Guest[] =>
  names.map((name) => ({ name, account: null, address: null }));
const many = (people: number) =>
  invited(...Array.from({ length: people }, (_, place) => `p${place}`));
const complaint = (change: Partial<Wish>, people = 3) =>
  complaintOf({ ...wish, ...change }, many(people), 0, NOW);

const key = (byte: number) => DeviceKey.fromSeed(new Uint8Array(32).fill(byte));
const deployment = () =>
  new Deployment(
    JSON.stringify({
      you: 0,
      session: '09'.repeat(32),
      servers: [0, 1, 2].map((party) => ({
        party,
        name: 'n',
        url: '',
        key: key(party + 1).publicKey(),
      })),
    }),
  );

/** The draft, which the cryptography takes. */
function drafted(change: Partial<Wish>, guests = many(3)) {
  const servers = deployment();
  const made = draftOf({ ...wish, ...change }, guests, key(9), servers, null, NOW);
  new DecisionBeginning(servers, key(9), made.draft, new Uint8Array(32)).free();
  return { ...made, draft: JSON.parse(made.draft) as Record<string, unknown> };
}

test('every rule makes a draft that the cryptography takes', () => {
  for (const rule of rulesFor(wish, 3)) {
    const outputs = rule === 'custom' ? [0, 1, 0, 1] : [];
    expect(complaint({ rule, outputs })).toBe(null);
    expect(drafted({ rule, outputs }).id).toMatch(/^[0-9a-f]{32}$/);
  }
});

test('whoever has no account is invited, and the secret stays here', () => {
  const account = key(7).publicKey();
  const guests = [...invited('Anna'), { name: 'Ben', account, address: null }];
  const { draft, invitations } = drafted({}, guests);
  const [secret, none] = invitations;
  expect(none).toBe(null);
  const invitation = DeviceKey.fromInvitation(secret ?? '').publicKey();
  expect(draft.people).toEqual([
    { name: 'Anna', seat: { invitation } },
    { name: 'Ben', seat: { account } },
  ]);
  expect(draft).toMatchObject({ creator: key(9).publicKey(), quorum: 2, gathering: null });
});

test('a poll has one ballot for each date, in order and in UTC', () => {
  const { draft } = drafted({
    topic: 'dates',
    rule: 'tally',
    dates: ['2027-01-03T18:00', '2027-01-02T18:00', '2027-01-03T18:00', ''],
  });
  const { ballots, question } = draft as { ballots: { label: string }[]; question: string };
  const label = (date: string) => `${new Date(date).toISOString().slice(0, 16)}Z`;
  expect(ballots.map((ballot) => ballot.label)).toEqual([
    label('2027-01-02T18:00'),
    label('2027-01-03T18:00'),
  ]);
  expect(question).toBe('Shall we?');
});

test('what cannot be a draft is said before anything is sent', () => {
  expect(complaint({})).toBe(null);
  expect(complaint({ question: ' ' })).toBe('question');
  expect(complaint({ question: 'ä'.repeat(251) })).toBe('long');
  expect(complaint({ options: ['Yes', 'Yes '] })).toBe('options');
  expect(complaint({}, 1)).toBe('people');
  expect(complaint({ topic: 'dates' })).toBe('ballots');
  expect(complaint({ rule: 'at-least', enough: 4 })).toBe('enough');
  expect(complaint({ rule: 'custom', outputs: [1] })).toBe('table');
  expect(complaint({ rule: 'tally', options: ['a', 'b', 'c', 'd', 'e', 'f'] }, 20)).toBe('large');
  expect(complaint({ deadline: '2026-11-01T12:00' })).toBe('deadline');
  expect(complaint({ deadline: '2028-11-01T12:00' })).toBe('deadline');
  expect(complaint({ acceptBy: wish.deadline })).toBe('accept-by');
  expect(complaint({ acceptBy: '2026-11-01T12:00' })).toBe('accept-by');
  expect(complaint({ quorum: 2 })).toBe('quorum');
  expect(complaint({ quorum: 4 })).toBe('quorum');
  expect(complaint({ quorum: 2 }, 2)).toBe(null);
});

test('what a field holds that is no number, and no time, is none', () => {
  for (const enough of [1.5, -1, Number.NaN, 70_000, null as unknown as number])
    expect(complaint({ rule: 'at-least', enough }), `${enough}`).toBe('enough');
  expect(complaint({ quorum: 2.5 })).toBe('quorum');
  for (const wrong of [256, 0.5, null as unknown as number])
    expect(complaint({ rule: 'custom', outputs: [0, 1, 0, wrong] })).toBe('table');
  expect(complaint({ deadline: '' })).toBe('deadline');
  expect(complaint({ acceptBy: '' })).toBe('accept-by');
});

test('whoever is called as somebody else is complained of, and who is not known yet is counted', () => {
  const of = (guests: Guest[], more = 0, quorum: number | null = null) =>
    complaintOf({ ...wish, quorum }, guests, more, NOW);
  expect(of(invited('Anna', 'ANNA', 'Ben'))).toBe('names');
  expect(of(invited('Anna', '', 'Ben'))).toBe('names');
  const twice = invited('Anna', 'Ben').map((guest) => ({ ...guest, account: 'ab'.repeat(32) }));
  expect(of(twice)).toBe('seats');
  expect(of(invited('Anna'), 2, 3)).toBe(null);
  expect(of(invited('Anna'), 2, 4)).toBe('quorum');
  expect([limits().options, limits().ballots]).toEqual([8, 20]);
});

test('rules that count one of two answers are there for two answers only, and tables for few people', () => {
  expect(rulesFor({ ...wish, options: ['a', 'b', 'c'] }, 3)).toEqual([
    'plurality',
    'tally',
    'custom',
  ]);
  expect(rulesFor(wish, 7)).not.toContain('custom');
});

test('what is assumed stays the same answer when answers are added or taken away', () => {
  const label = ({ options, assumed }: Pick<Wish, 'options' | 'assumed'>) => options[assumed];
  for (const assumed of [0, 1]) {
    const [two, three] = [{ ...wish, assumed }, withOption({ ...wish, assumed })];
    expect(three.options).toEqual(['Yes', 'No', '']);
    expect(label(three)).toBe(label(two));
    expect(withoutOption(three, 2)).toEqual({ options: wish.options, assumed });
    expect(label(withOption(three))).toBe(label(two));
  }
  expect(withoutOption({ options: ['a', 'b', 'c', 'd'], assumed: 3 }, 1)).toEqual({
    options: ['a', 'c', 'd'],
    assumed: 2,
  });
  expect(withoutOption({ options: ['a', 'b', 'c', 'd'], assumed: 1 }, 1).assumed).toBe(0);
});

test('if need be is an answer about dates in a full count only', () => {
  const words = { impossible: 'no', ifNeedBe: 'perhaps', possible: 'yes' };
  const dates = { topic: 'dates', rule: 'tally', needBe: true } as const;
  expect(dateAnswers(dates, words)).toEqual(['no', 'perhaps', 'yes']);
  expect(dateAnswers({ ...dates, rule: 'majority' }, words)).toEqual(['no', 'yes']);
  expect(dateAnswers({ ...dates, needBe: false }, words)).toEqual(['no', 'yes']);
});

test('whole days and ranges become labels, each once and in order, and a wrong range is told', () => {
  const dates = ['2027-01-05', '2027-01-03/2027-01-04', '2027-01-05', '', '2027-01-03'];
  expect(datesOf({ dates })).toEqual(['2027-01-03', '2027-01-03/2027-01-04', '2027-01-05']);
  const poll = { ...wish, topic: 'dates', rule: 'tally' } as const;
  expect(complaint({ ...poll, dates })).toBe(null);
  for (const wrong of ['2027-01-05/2027-01-04', '2027-01-05/2027-01-05', '/2027-01-05'])
    expect(complaint({ ...poll, dates: [wrong] }), wrong).toBe('ranges');
});

test('the next day is offered, over months and for both ends, and days in a row are filled in', () => {
  expect(nextDay('2027-02-28')).toBe('2027-03-01');
  expect(nextDay('2027-12-31T18:00/2027-12-31T20:30')).toBe('2028-01-01T18:00/2028-01-01T20:30');
  expect(nextDay('')).toBe('');
  expect(daysFrom('2027-02-27', '2027-03-01', 20)).toEqual([
    '2027-02-27',
    '2027-02-28',
    '2027-03-01',
  ]);
  expect(daysFrom('2027-01-01', '2027-12-31', 20)).toHaveLength(20);
  expect(daysFrom('2027-01-02', '2027-01-01', 20)).toEqual([]);
});

test('of two or three people all must answer, of more where the creator says so', () => {
  const all = (people: number, quorum: number | null = null) => allMustAnswer({ quorum }, people);
  expect([2, 3, 4, 20].map((people) => all(people))).toEqual([true, true, false, false]);
  expect([all(4, 4), all(20, 19), all(0), all(1)]).toEqual([true, false, false, false]);
});

test('dates begin with the full count, questions with the majority', () => {
  expect(forTopic('dates')).toEqual({ rule: 'tally', assumed: 0 });
  expect(forTopic('question')).toEqual({ rule: 'majority', assumed: 0 });
});
