// What a participant is shown of a question, at every stage of it.

import { render } from 'svelte/server';
import { expect, test } from 'vitest';

import type { Answer, Ballot, Poll, Tally } from '../../../lib/hosts/hostlog';
import type { PollPhase } from '../../../lib/hosts/wall/polls';
import type { Standing } from '../../../lib/rooms/part/session.svelte';
import PollCard from './PollCard.svelte';

const poll: Poll = {
  number: 3,
  question: 'Now?',
  form: { choice: { options: ['yes', 'no'], several: false } },
  epoch: 9,
  withdrawn: false,
  right: null,
};
const view = {
  number: 8,
  waitsForStock: false,
  sealsAt: null,
  mixing: [],
  present: 5,
  missing: 0,
  taken: 0,
  overdue: null,
};
const tally: Tally = { answers: 4, votes: [3, 1], texts: [], invalid: 0, erased: 0 };

interface Situation {
  phase: PollPhase;
  asked?: Poll;
  state?: Ballot['state'];
  kept?: Answer;
  part?: Standing;
  /** The result. */
  result?: Tally;
}

function shown({
  phase,
  asked = poll,
  state,
  kept,
  part = { at: 'waiting', home: 0 },
  result = tally,
}: Situation): string {
  const ballots: Ballot[] = state ? [{ poll: asked.number, epoch: asked.epoch, state }] : [];
  const session = {
    ballots,
    part,
    entries: [],
    answerTo: () => kept ?? null,
    tally: () => result,
    textOf: ({ index }: { index: number }) => (index === 1 ? null : `message ${index}`),
  };
  const deployment = { limit: 254, seconds: 6 };
  return render(PollCard, { props: { session, deployment, view, poll: asked, phase } as never })
    .body;
}

test('a question is answered by choosing, until its epoch', () => {
  const open = shown({ phase: 'open' });
  expect(open.match(/type="radio"/g)).toHaveLength(2);
  expect(open).toContain('All answers come out together, in epoch 9');
  expect(open).toMatch(/<button[^>]* disabled/);
  const answered = shown({ phase: 'open', state: 'waiting', kept: { choice: [1] } });
  expect(answered).toContain('Your answer is kept on this device until epoch 9');
  expect(answered).toContain('Change the answer');
  expect(answered).toMatch(/value="1" checked/);
});

test('every form of a question has its own field', () => {
  const several: Poll = { ...poll, form: { choice: { options: ['a', 'b', 'c'], several: true } } };
  expect(shown({ phase: 'open', asked: several }).match(/type="checkbox"/g)).toHaveLength(3);
  expect(
    shown({ phase: 'open', asked: { ...poll, form: { rating: { highest: 5 } } } }).match(
      /type="radio"/g,
    ),
  ).toHaveLength(5);
  expect(shown({ phase: 'open', asked: { ...poll, form: 'text' } })).toContain('id="words-3"');
});

test('what became of an answer is said, and why it was not counted', () => {
  expect(shown({ phase: 'open', state: 'sent' })).toContain('cannot be changed any more');
  const counted = shown({ phase: 'counted', state: 'counted' });
  expect(counted).toContain('Your answer was counted.');
  expect(counted).toContain('<table');
  expect(shown({ phase: 'counted', state: 'missed' })).toContain(
    'did not hand it in before the epoch was sealed',
  );
  expect(shown({ phase: 'lost', state: 'missed' })).toContain('nor anybody’s');
  expect(shown({ phase: 'lost', state: 'doubted' })).toContain('somebody may have read it');
  expect(shown({ phase: 'counted' })).toContain('You did not answer.');
});

test('where bodies are erased, nobody is said to have been silent', () => {
  const none: Tally = { answers: 0, votes: [0, 0], texts: [], invalid: 0, erased: 0 };
  expect(shown({ phase: 'counted', result: none })).toContain('Nobody answered.');
  const gone = shown({ phase: 'counted', state: 'missed', result: { ...none, erased: 3 } });
  expect(gone).toContain('3 messages of this epoch are erased; answers may be among them.');
  expect(gone).toContain('Your answer is not among those that can be read.');
  for (const wrong of ['Nobody answered.', 'did not hand it in', '<table'])
    expect(gone).not.toContain(wrong);
  const some = shown({ phase: 'counted', result: { ...tally, erased: 1 } });
  expect(some).toContain('4 answers');
  expect(some).toContain('1 message of this epoch is erased; it may be an answer.');
});

test('who only reads is asked nothing', () => {
  const reads = shown({ phase: 'open', part: { at: 'reading' } });
  expect(reads).toContain('Now?');
  expect(reads).not.toContain('<form');
});

test('messages are voted on by their texts, and hidden ones are not offered', () => {
  const targets = [0, 1, 2].map((index) => ({ epoch: 4, index }));
  const round = shown({ phase: 'open', asked: { ...poll, form: { messages: { targets } } } });
  expect(round.match(/type="checkbox"/g)).toHaveLength(2);
  expect(round).toContain('message 2');
  expect(round).not.toContain('message 1');
  expect(round).toContain('recognised as the same unknown person');
});

test('a ranking is touched into order', () => {
  const ranking = shown({
    phase: 'open',
    asked: { ...poll, form: { ranking: { options: ['a', 'b', 'c'] } } },
    state: 'waiting',
    kept: { ranking: [2, 0, 1] },
  });
  expect(ranking).toContain('number 1');
  expect(ranking).not.toContain('type="radio"');
});

test('after a quiz each device says whether its own answer was right', () => {
  const asked: Poll = { ...poll, right: [1] };
  expect(shown({ phase: 'counted', asked, state: 'counted', kept: { choice: [1] } })).toContain(
    'It is right.',
  );
  expect(shown({ phase: 'counted', asked, state: 'counted', kept: { choice: [0] } })).toContain(
    'It is not the right one.',
  );
  expect(shown({ phase: 'counted', asked })).toContain('You did not answer.');
  expect(shown({ phase: 'counted', state: 'counted', kept: { choice: [1] } })).not.toContain(
    'It is right.',
  );
});
