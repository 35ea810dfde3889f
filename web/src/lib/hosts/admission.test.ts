import { expect, test } from 'vitest';

import { inTurns, keysIn } from './admission';

const key = (digit: string) => digit.repeat(64);

test('keys are read as people paste them', () => {
  const pasted = `${key('a')}\r\n\n  "${key('B')}", \n${key('a')}\n${key('c').slice(1)}\nzeta\n${key('d')};`;
  expect(keysIn(pasted, [key('d')])).toEqual({ fresh: [key('a'), key('b')], wrong: [5, 6] });
  expect(keysIn('', [])).toEqual({ fresh: [], wrong: [] });
});

test('many keys are admitted in several actions, each once', () => {
  const keys = Array.from({ length: 600 }, (_, index) => String(index));
  const turns = inTurns(keys);
  expect(turns.map((turn) => turn.length)).toEqual([256, 256, 88]);
  expect(turns.flat()).toEqual(keys);
  expect(inTurns([])).toEqual([]);
});
