import { expect, test } from 'vitest';

import { Problem, type Server } from '../../servers/api';
import { claimedBy, handIn } from './claiming';
import { EMPTY_LOG } from '../../hosts/hostlog';

test('an invitation is open, ours, or used by somebody else', () => {
  const log = {
    ...EMPTY_LOG,
    former: new Set(['d']),
    invitations: [
      { key: 'a', number: 1, claimed: null },
      { key: 'b', number: 2, claimed: 'k' },
    ],
  };
  expect(claimedBy(log, 'a', 'k')).toBe('open');
  expect(claimedBy(log, 'b', 'k')).toBe('ours');
  expect(claimedBy(log, 'b', 'other')).toBe('used');
  expect(claimedBy(log, 'c', 'k')).toBe('unknown');
  expect(claimedBy(log, 'd', 'k')).toBe('withdrawn');
});

function servers(...answers: (Error | null)[]): { asked: number[]; servers: Server[] } {
  const asked: number[] = [];
  const server = (answer: Error | null, party: number) => ({
    claim: () => {
      asked.push(party);
      return answer ? Promise.reject(answer) : Promise.resolve();
    },
  });
  return { asked, servers: answers.map(server) as unknown as Server[] };
}

test('a claim finds the server that puts claims in order, and its refusal stands', async () => {
  const elsewhere = new Problem(421, 'elsewhere');
  const found = servers(elsewhere, null, elsewhere);
  await handIn(found.servers, 'room', '{}');
  expect(found.asked).toEqual([0, 1]);
  const used = servers(new Problem(409, 'used'), null);
  await expect(handIn(used.servers, 'room', '{}')).rejects.toThrow('used');
  expect(used.asked).toEqual([0]);
  const away = servers(new TypeError('no answer'), elsewhere, elsewhere);
  await expect(handIn(away.servers, 'room', '{}')).rejects.toThrow('no answer');
});
