import { beforeAll, expect, test, vi } from 'vitest';

import { loadForTest } from '../../test/world';
import { Account, type Alone } from './account';
import { StorageFull } from '../rooms/part/outbox';

beforeAll(loadForTest);

class Cupboard {
  readonly items = new Map<string, string>();
  full = false;
  /** Characters that fit. */
  room = Infinity;

  getItem(name: string): string | null {
    return this.items.get(name) ?? null;
  }

  setItem(name: string, value: string): void {
    const others = [...this.items]
      .filter(([other]) => other !== name)
      .map(([, kept]) => kept.length);
    const size = others.reduce((sum, length) => sum + length, value.length);
    if (this.full || size > this.room) throw new DOMException('full', 'QuotaExceededError');
    this.items.set(name, value);
  }

  removeItem(name: string): void {
    this.items.delete(name);
  }
}

/** One after the other, as browsers' locks do. */
function queue(): Alone {
  let turn: Promise<unknown> = Promise.resolve();
  return (act) => {
    const next = turn.then(() => act());
    turn = next.catch(() => undefined);
    return next;
  };
}

const decision = {
  id: 'ab',
  servers: 'cd',
  question: 'Shall we?',
  invitations: ['s', null],
  letters: [{ address: 'a@b', sent: 0 }, null],
};

test('two tabs have one account', async () => {
  const [cupboard, only] = [new Cupboard(), queue()];
  const [one, other] = await Promise.all([
    Account.open(cupboard, only),
    Account.open(cupboard, only),
  ]);
  expect(one.key.publicKey()).toBe(other.key.publicKey());
});

test('nothing that was computed with the memory is returned before it is written down', async () => {
  const cupboard = new Cupboard();
  const account = await Account.open(cupboard, queue());
  cupboard.full = true;
  await expect(account.withMemory(() => 'a step')).rejects.toThrow(StorageFull);
});

test('a storage that is full is said to be that, whatever is to be kept', async () => {
  const cupboard = new Cupboard();
  const account = await Account.open(cupboard, queue());
  cupboard.full = true;
  await expect(account.know(decision)).rejects.toThrow(StorageFull);
  await expect(account.meet([{ name: 'Ben', account: 'b1' }])).rejects.toThrow(StorageFull);
  const fresh = new Cupboard();
  fresh.full = true;
  await expect(Account.open(fresh, queue())).rejects.toThrow('storage is full');
});

test('what may have left is asked without writing, and a memory that cannot be read rules nothing out', async () => {
  const cupboard = new Cupboard();
  const account = await Account.open(cupboard, queue());
  cupboard.full = true;
  expect(account.mayHaveAnswered('ab'.repeat(16))).toBe(false);
  const seen = (answers: number[] | null) =>
    JSON.stringify({
      decisions: {
        ['ab'.repeat(16)]: {
          length: 3,
          head: 'cd'.repeat(32),
          serial: null,
          answered: { answers },
        },
      },
    });
  cupboard.items.set('ostrakon/account/memory', seen([1]));
  expect(account.mayHaveAnswered('ab'.repeat(16))).toBe(true);
  cupboard.items.set('ostrakon/account/memory', seen(null));
  expect(account.mayHaveAnswered('ab'.repeat(16))).toBe(true);
  expect(account.mayHaveAnswered('cd'.repeat(16))).toBe(false);
  cupboard.items.set('ostrakon/account/memory', 'spoilt');
  expect(account.mayHaveAnswered('ab'.repeat(16))).toBe(true);
});

test('a decision that is seen again keeps its invitations', async () => {
  const account = await Account.open(new Cupboard(), queue());
  await account.know(decision);
  await account.know({ ...decision, id: 'ef' });
  await account.know({ ...decision, invitations: null, letters: null });
  expect(account.known()[0]).toEqual(decision);
  await account.drop('ab');
  expect(account.known().map(({ id }) => id)).toEqual(['ef']);
});

test('where a link was sent, and how often, is written down', async () => {
  const account = await Account.open(new Cupboard(), queue());
  await account.know({ ...decision, letters: null });
  await account.write('ab', 1, { address: 'c@d', sent: 1 });
  await account.write('other', 0, { address: 'x@y', sent: 1 });
  expect(account.known().map(({ letters }) => letters)).toEqual([
    [null, { address: 'c@d', sent: 1 }],
  ]);
});

test('nobody takes the place of somebody who is known by bearing the same name, and the own account is not among them', async () => {
  const account = await Account.open(new Cupboard(), queue());
  await account.meet([
    { name: 'Ben', account: 'b1' },
    { name: 'Me', account: account.key.publicKey() },
  ]);
  await account.meet([
    { name: 'Anna', account: 'a1' },
    { name: 'Ben', account: 'b2' },
  ]);
  expect(account.people()).toEqual([
    { name: 'Anna', account: 'a1' },
    { name: 'Ben', account: 'b1' },
    { name: 'Ben', account: 'b2' },
  ]);
});

test('an account is known once, by its first name, also where an earlier page wrote it down twice', async () => {
  const cupboard = new Cupboard();
  const account = await Account.open(cupboard, queue());
  await account.meet([{ name: 'Anna', account: 'a1' }]);
  await account.meet([
    { name: 'Anna M.', account: 'a1' },
    { name: 'Ben', account: 'b1' },
    { name: 'Benno', account: 'b1' },
  ]);
  expect(account.people()).toEqual([
    { name: 'Anna', account: 'a1' },
    { name: 'Ben', account: 'b1' },
  ]);
  cupboard.items.set(
    'ostrakon/account/people',
    JSON.stringify([
      { name: 'Anna', account: 'a1' },
      { name: 'Anna M.', account: 'a1' },
    ]),
  );
  expect(account.people()).toEqual([{ name: 'Anna', account: 'a1' }]);
});

test('somebody with a new device is forgotten under the old account only, until that one is met again', async () => {
  const account = await Account.open(new Cupboard(), queue());
  await account.meet([
    { name: 'Ben', account: 'b1' },
    { name: 'Ben', account: 'b2' },
  ]);
  await account.forget('b1');
  expect(account.people()).toEqual([{ name: 'Ben', account: 'b2' }]);
  await account.meet([{ name: 'Ben', account: 'b1' }]);
  expect(account.people()).toHaveLength(2);
});

test('an account moves to another browser whole; other files are refused and change nothing', async () => {
  const account = await Account.open(new Cupboard(), queue());
  await account.know(decision);
  const cupboard = new Cupboard();
  const before = await Account.open(cupboard, queue());
  for (const file of [
    '',
    '{}',
    '{"format":"ostrakon account 1","seed":"AA","memory":"{}","decisions":[],"people":[]}',
  ]) {
    await expect(Account.import(file, cupboard, queue())).rejects.toThrow();
  }
  expect((await Account.open(cupboard, queue())).key.publicKey()).toBe(before.key.publicKey());
  const moved = await Account.import(account.export(), cupboard, queue());
  expect(moved.key.publicKey()).toBe(account.key.publicKey());
  expect(moved.known()).toEqual([decision]);
});

test('an account that does not fit leaves the one that is there as it was, with its memory', async () => {
  const account = await Account.open(new Cupboard(), queue());
  await account.know(decision);
  await account.meet([{ name: 'Ben', account: 'b1' }]);
  for (const memory of ['', 'm'.repeat(150)]) {
    const cupboard = new Cupboard();
    const before = await Account.open(cupboard, queue());
    if (memory !== '') cupboard.items.set('ostrakon/account/memory', memory);
    const kept = new Map(cupboard.items);
    const least = [...kept.values()].reduce((sum, { length }) => sum + length, 0);
    let refused = 0;
    for (cupboard.room = least; ; cupboard.room++) {
      const moved = await Account.import(account.export(), cupboard, queue()).catch(
        (error: unknown) => error,
      );
      if (moved instanceof Account) break;
      expect(moved).toBeInstanceOf(StorageFull);
      expect(cupboard.items).toEqual(kept);
      refused++;
    }
    expect(refused).toBeGreaterThan(0);
    expect((await Account.open(cupboard, queue())).key.publicKey()).not.toBe(
      before.key.publicKey(),
    );
  }
});

test('the browser is asked to keep the account, and one that cannot is used all the same', async () => {
  const persist = vi.fn(() => Promise.reject(new Error('not here')));
  vi.stubGlobal('navigator', { storage: { persist } });
  const account = await Account.open(new Cupboard(), queue());
  expect(persist).toHaveBeenCalledOnce();
  expect(account.known()).toEqual([]);
  vi.unstubAllGlobals();
});

test('what a join link came to is kept, moves with the account, and the newest is first', async () => {
  const account = await Account.open(new Cupboard(), queue());
  const link = (id: string, name: string | null) => ({
    id,
    servers: 'cd',
    name,
    plan: null,
    address: null,
    number: 1,
    admitted: [{ name: 'Ben', account: 'b' }],
    refused: ['e'],
  });
  await account.keepLink(link('one', null));
  await account.keepLink(link('two', null));
  await account.keepLink(link('one', 'Anna'));
  expect(account.links()).toEqual([link('one', 'Anna'), link('two', null)]);
  const moved = await Account.import(account.export(), new Cupboard(), queue());
  expect(moved.links()).toEqual(account.links());
});
