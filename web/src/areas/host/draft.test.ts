import { expect, test } from 'vitest';

import type { Prepared } from '../../lib/prepared';
import { Draft } from './draft.svelte';

const vote: Prepared = { question: 'Now?', form: { choice: { options: ['yes', 'no'], several: false } }, seconds: 60 };
const mark: Prepared = { question: 'How good?', form: { rating: { highest: 7 } }, seconds: 15 };
const list = [vote, mark];
const again = (prepared: Prepared) => structuredClone(prepared);

test('a prepared question comes into the fields as it is, and out of them', () => {
  for (const prepared of [vote, mark, { ...vote, form: { ranking: { options: ['a', 'b', 'c'] } } }, { ...mark, form: 'text' as const }]) {
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
  expect(draft.replaced(list.map(again), draft.prepared())?.map(({ question }) => question)).toEqual(['Today?', 'How good?']);
  expect(draft.replaced(list, null)).toEqual([mark]);
  expect(draft.replaced([mark], draft.prepared())).toBe(null);
  draft.clear();
  expect([draft.question, draft.changing, draft.replaced(list, mark)]).toEqual(['', null, null]);
});

test('a choice is written without empty answers', () => {
  const draft = new Draft();
  draft.question = ' Who? ';
  draft.options = [' a ', '', 'b'];
  expect(draft.prepared()).toEqual({ question: 'Who?', form: { choice: { options: ['a', 'b'], several: false } }, seconds: 30 });
});
