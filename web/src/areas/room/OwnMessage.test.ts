// What becomes of the own message, in words.

import { render } from 'svelte/server';
import { expect, test } from 'vitest';

import OwnMessage from './OwnMessage.svelte';

test('a message that may have been read is said so, and that nothing repeats it', () => {
  const shown = (closed: boolean, held: number | null) =>
    render(OwnMessage, {
      props: {
        own: { text: 'hello', epoch: null, held },
        news: { kind: 'again', epoch: 4 },
        part: { at: 'waiting', home: 0 },
        deployment: { operators: [] },
        next: { number: 5, sealsAt: Date.now() + 60_000 },
        keeping: true,
        closed,
        takeBack: () => undefined,
      } as never,
    }).body;
  expect(shown(false, null)).toContain('Your message enters the next one.');
  expect(shown(false, null)).toContain('Sealed at about');
  expect(shown(true, null)).toContain('was not published');
  for (const closed of [false, true]) {
    const held = shown(closed, 4);
    expect(held).toContain('somebody may have read it');
    expect(held).not.toContain('enters the next one');
    expect(held).not.toContain('Sealed at');
    expect(held.includes('button')).toBe(!closed);
  }
});

test('only a message that can be read on the wall is called unaltered', () => {
  const shown = (erased: boolean) => {
    const news = { kind: 'published', epoch: 4, among: 9, signers: [0, 1], erased };
    const deployment = { operators: [{ name: 'alpha' }, { name: 'beta' }] };
    return render(OwnMessage, {
      props: {
        own: null,
        news,
        part: { at: 'waiting', home: 0 },
        deployment,
        next: null,
        keeping: true,
        takeBack: () => undefined,
      } as never,
    }).body;
  };
  expect(shown(false)).toContain('Your message is on the wall, unaltered: epoch 4');
  expect(shown(false)).toContain('signed by alpha and beta');
  expect(shown(true)).toContain(
    'Your message cannot be read on the wall: messages of epoch 4 have been erased',
  );
  expect(shown(true)).not.toContain('unaltered');
});
