// Makes a decision: the draft, and the invitations, which stay on this device until they are handed
// out. How it is begun, the WASM module says.

import { Account } from '../../lib/decisions/account';
import { decisionLink, joinLink } from '../../lib/page/addresses';
import {
  Deployment,
  DeviceKey,
  JoinLink,
  beginDeciding,
  serversDigest,
} from '../../lib/page/cryptography';
import { beginBy, beginWithStock } from '../../lib/decisions/beginning';
import { Canvass } from '../../lib/decisions/canvass';
import { systemClock } from '../../lib/page/clock';
import { DecisionServer } from '../../lib/decisions/decisions';
import { Problem, toBase64 } from '../../lib/servers/api';
import type { Reason } from '../../lib/servers/reason';
import { operatorsOf } from '../../lib/servers/deployment';
import { draftOf, type Wish } from '../../lib/decisions/asking/draft';
import type { Guest } from '../../lib/decisions/asking/guests';
import { fresh } from '../join/joining.svelte';
import type { Plan } from '../join/plan';

/** Why a decision was not made, or perhaps not. */
export interface Complaint extends Reason {
  perhaps: boolean;
}

/**
 * Makes the decision, of people who have asked by the join link `gathering` if there is one.
 * Returns its id, and where it is: an address within this page.
 */
export async function begin(
  wish: Wish,
  guests: Guest[],
  account: Account,
  code: string,
  origin: string,
  gathering: string | null = null,
): Promise<{ id: string; address: string }> {
  const at = (url: string) => new DecisionServer(url, code);
  const { raw, operators } = await operatorsOf(undefined, origin, at);
  const digest = serversDigest(raw);
  const deployment = new Deployment(raw);
  const { id, draft, invitations } = draftOf(
    wish,
    guests,
    account.key,
    deployment,
    gathering,
    Date.now(),
  );
  const letters = guests.map(({ address }) => (address === null ? null : { address, sent: 0 }));
  const known = { id, servers: digest, question: wish.question.trim(), letters };
  const keeper = {
    keep: () => account.know({ ...known, invitations }),
    forget: () => account.drop(id),
  };
  const machine = beginDeciding(deployment, account.key, draft);
  const start = (stocked?: () => void) => beginBy(machine, operators, keeper, systemClock, stocked);
  const own = account.key.publicKey();
  await (guests.some((guest) => guest.account === own) ? beginWithStock(start) : start());
  return { id, address: decisionLink('', id, digest).slice(1) };
}

/** Does something that is refused as the servers would refuse it. */
function asServersSay<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw new Problem(422, error instanceof Error ? error.message : String(error));
  }
}

/** Makes a join link, and returns where its creator sees who asks: an address within this page. */
export async function gather(
  wish: Wish,
  plan: Plan,
  account: Account,
  code: string,
  origin: string,
): Promise<string> {
  const at = (url: string) => new DecisionServer(url, code);
  const { raw, operators } = await operatorsOf(undefined, origin, at);
  const digest = serversDigest(raw);
  const secret = DeviceKey.generate();
  const until = BigInt(Math.floor(new Date(wish.acceptBy).getTime() / 1000));
  const nonce = crypto.getRandomValues(new Uint8Array(16));
  const deployment = new Deployment(raw);
  const now = BigInt(Math.floor(Date.now() / 1000));
  const make = () =>
    JoinLink.make(deployment, account.key, secret, wish.question, until, nonce, now);
  const link = asServersSay(make);
  const place = { gathering: link.id(), servers: digest };
  const address = joinLink('', place.gathering, place.servers, secret.invitation()).slice(1);
  // Kept before it exists, as invitations are.
  await account.keepLink({ ...fresh(place), plan: JSON.stringify(plan), address });
  await new Canvass(operators, systemClock).keep(toBase64(link.bytes()));
  return address;
}
