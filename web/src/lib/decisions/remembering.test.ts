import { beforeAll, expect, test } from 'vitest';

import { loadForTest } from '../../test/world';
import { Account, type Alone } from './account';
import { StorageFull } from '../rooms/part/outbox';
import { Refused } from './reading';
import { remember } from './remembering';

beforeAll(loadForTest);

const ID = 'ab'.repeat(16);
const only: Alone = async (act) => act();

/** An account in a browser whose storage can become full. */
async function browser() {
  const items = new Map<string, string>();
  const storage = {
    full: false,
    getItem: (name: string) => items.get(name) ?? null,
    setItem(name: string, value: string): void {
      if (this.full) throw new DOMException('no room', 'QuotaExceededError');
      items.set(name, value);
    },
    removeItem: (name: string) => void items.delete(name),
  };
  return { storage, account: await Account.open(storage, only) };
}

/** A visit that finds `wrong` with the history, if anything. */
function visit(wrong?: string) {
  const receipt = JSON.stringify({
    decision: ID,
    servers: 'cd',
    person: 1,
    number: 4,
    digest: 'ef',
    signatures: [],
  });
  return {
    remember: () => {
      if (wrong !== undefined) throw new Error(wrong);
    },
    confirmed: () => receipt,
    finding: () => (wrong === undefined ? undefined : '{"kind":"forked","number":3}'),
  };
}

test('what is remembered comes with the receipt', async () => {
  const { account } = await browser();
  const { receipt, pending } = await remember(visit(), account, account.key, ID);
  expect([receipt?.number, pending]).toEqual([4, null]);
});

test('a history that is another one than before is refused', async () => {
  const { account } = await browser();
  const refused = await remember(visit('record 3 is another one'), account, account.key, ID).catch(
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(Refused);
  expect((refused as Refused).doubt.finding).toEqual({ kind: 'forked', number: 3 });
});

test('a storage that is full is said to be that, and accuses nobody', async () => {
  const { storage, account } = await browser();
  storage.full = true;
  const failed = await remember(visit(), account, account.key, ID).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(StorageFull);
  expect(failed).not.toBeInstanceOf(Refused);
});
