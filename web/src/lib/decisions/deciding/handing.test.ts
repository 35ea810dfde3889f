import { expect, test } from 'vitest';

import { Problem } from '../../servers/api';
import { handIn } from './handing';

const record = new Uint8Array([1]);

/** A server that always answers so: with an error, or by taking the record. */
function server(answer: Error | null) {
  const taken: Uint8Array[] = [];
  return {
    taken,
    append: (_: string, signed: Uint8Array): Promise<number> => {
      taken.push(signed);
      return answer ? Promise.reject(answer) : Promise.resolve(1);
    },
  };
}

/** A chain of which two servers show more after so many looks. */
function watched(after = Infinity) {
  let looks = 0;
  return {
    moved: () => Promise.resolve(++looks > after),
    pause: () => Promise.resolve(),
  };
}

test.each([
  ['refuses', new Problem(422, 'wrong')],
  ['says that another record came first', new Problem(409, 'first')],
  ['says to have taken it', null],
  ['is away', new Error('away')],
])('what the first server keeps out while it %s is held by another', async (_, answer) => {
  const servers = [server(answer), server(new Error('away')), server(null)];
  await handIn(servers, 'id', record, watched());
  expect(servers.map(({ taken }) => taken.length)).toEqual([1, 1, 1]);
});

test('the others are left alone once two servers show that the chain has gone on', async () => {
  for (const answer of [null, new Problem(409, 'first')]) {
    const servers = [server(answer), server(null), server(null)];
    await handIn(servers, 'id', record, watched(2));
    expect(servers.map(({ taken }) => taken.length)).toEqual([1, 0, 0]);
  }
});

test('a refusal is believed if a second server refuses, too, or no other one answers', async () => {
  const [wrong, first] = [new Problem(422, 'wrong'), new Problem(409, 'first')];
  const away = new Error('away');
  const outcome = (...answers: Error[]) =>
    handIn(answers.map(server), 'id', record, watched()).catch((error: unknown) => error);
  expect(await outcome(wrong, wrong, away)).toBe(wrong);
  expect(await outcome(wrong, away, away)).toBe(wrong);
  expect(await outcome(wrong, first, away)).toBe(undefined);
  expect(await outcome(away, wrong, wrong)).toBe(undefined);
});
