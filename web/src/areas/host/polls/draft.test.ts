import { expect, test } from 'vitest';

import type { Prepared } from '../../../lib/hosts/prepared';
import { Draft, placeOf } from './draft.svelte';

const vote: Prepared = {
  question: 'Now?',
  form: { choice: { options: ['yes', 'no'], several: false } },
  seconds: 60,
};
const mark: Prepared = { question: 'How good?', form: { rating: { highest: 7 } }, seconds: 15 };
const again = (prepared: Prepared) => structuredClone(prepared);

test('a prepared question comes into the fields as it is, and out of them', () => {
  for (const prepared of [
    vote,
    mark,
    { ...vote, form: { ranking: { options: ['a', 'b', 'c'] } } },
    { ...mark, form: 'text' as const },
  ]) {
    const draft = new Draft();
    draft.change(prepared);
    expect(draft.prepared()).toEqual(prepared);
  }
});

test('a question that is being changed stays where it is until it is kept or asked', () => {
  const draft = new Draft();
  draft.change(vote);
  draft.question = 'Today?';
  // The list may have been read anew in the meantime.
  expect([draft.isOf(again(vote)), draft.isOf(mark)]).toEqual([true, false]);
  draft.clear();
  expect([draft.question, draft.changing]).toEqual(['', null]);
});

test('a prepared question is found where it is by now', () => {
  expect([vote, mark].map((one) => placeOf([mark, again(vote)], one))).toEqual([1, 0]);
  expect(placeOf([{ ...vote, seconds: 15 }], vote)).toBe(-1);
});

test('what was asked leaves the fields, and takes nothing with it that came into them meanwhile', () => {
  const written = new Draft();
  written.question = 'Why?';
  const asked = written.prepared();
  written.question = 'Why not?';
  expect([written.asked(asked, null), written.question]).toEqual([false, 'Why not?']);
  expect([written.asked(written.prepared(), null), written.question]).toEqual([true, '']);

  const changed = new Draft();
  changed.change(vote);
  // Another prepared question came into the fields, and is being changed still.
  changed.change(mark);
  expect([changed.asked(vote, vote), changed.question, changed.changing]).toEqual([
    false,
    mark.question,
    mark,
  ]);
  expect([changed.asked(vote, null), changed.question, changed.changing]).toEqual([
    false,
    mark.question,
    mark,
  ]);
  // What is written on is a question of its own: the prepared one is asked.
  changed.question = 'How bad?';
  expect([changed.asked(mark, again(mark)), changed.question, changed.changing]).toEqual([
    false,
    'How bad?',
    null,
  ]);
});

test('a choice is written without empty answers', () => {
  const draft = new Draft();
  draft.question = ' Who? ';
  draft.options = [' a ', '', 'b'];
  expect(draft.prepared()).toEqual({
    question: 'Who?',
    form: { choice: { options: ['a', 'b'], several: false } },
    seconds: 30,
  });
});
