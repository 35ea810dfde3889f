// A join link as the page follows it, at servers that show what they please.

import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { t } from './messages';
import { Deployment, DeviceKey, JoinLink, serversDigest } from '../../lib/page/cryptography';
import { toBase64 } from '../../lib/servers/api';
import { LocalizedError } from '../../lib/servers/localized';
import { reasonOf } from '../../lib/servers/reason';
import { memory } from '../../test/memory';
import { atOnce } from '../../test/visits';
import { loadForTest } from '../../test/world';
import { Joining } from './joining.svelte';

beforeAll(loadForTest);
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  const locks = { request: (_: string, act: () => unknown) => Promise.resolve().then(act) };
  vi.stubGlobal('navigator', { locks });
  vi.stubGlobal('isSecureContext', true);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const seed = (byte: number) => new Uint8Array(32).fill(byte);
const keyOf = (byte: number) => DeviceKey.fromSeed(seed(byte));
const now = () => BigInt(Math.floor(Date.now() / 1000));

/** The servers' list, as one of them gives it. */
function listOf(you: number): string {
  const servers = ['a', 'b', 'c'].map((name, party) => ({
    party,
    name,
    url: `https://${name}.example`,
    key: keyOf(party + 1).publicKey(),
  }));
  return JSON.stringify({ you, session: '09'.repeat(32), servers });
}

/** A join link of the device with this key. */
function linkBy(creator: number, question = 'Shall we?'): JoinLink {
  const [nonce, until] = [new Uint8Array(16), now() + 3_600n];
  const deployment = new Deployment(listOf(0));
  return JoinLink.make(deployment, keyOf(creator), keyOf(9), question, until, nonce, now());
}

/** What the creator says under a number: whom it takes in. */
function wordOf(link: JoinLink, number: number, admitted: string[]): string {
  const saying = { kept: number - 1, admitted, refused: [], decision: null };
  return toBase64(link.say(keyOf(7), JSON.stringify(saying)));
}

/** Three servers, the browser of the link's creator, and what it hands in. */
class Place {
  readonly link = linkBy(7);
  readonly storage = memory();
  /** What each server shows. */
  readonly shows = [0, 1, 2].map(() => ({
    gathering: toBase64(this.link.bytes()),
    word: null as string | null,
  }));
  /** The words that were handed in, by the server's name. */
  readonly given: [server: string, word: string][] = [];
  /** What a server answers to a word. */
  statuses = [204, 204, 204];

  constructor() {
    this.storage.setItem('ostrakon/account', toBase64(seed(7)));
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => this.fetch(url, init));
  }

  private async fetch(url: string, { body }: RequestInit): Promise<Response> {
    const party = 'abc'.indexOf(url.charAt(8));
    if (url.endsWith('/servers')) return new Response(listOf(party));
    if (url.includes('/requests?')) return new Response('{"requests":[]}');
    if (!url.endsWith('/word')) return new Response(JSON.stringify(this.shows[party]));
    const word = toBase64(new Uint8Array(await (body as Blob).arrayBuffer()));
    this.given.push([url.charAt(8), word]);
    const status = this.statuses[party] ?? 500;
    return new Response(status === 204 ? null : '{"detail":"no"}', { status });
  }

  /** Follows the link with this secret, as far as that goes by itself. */
  async follows(secret = keyOf(9).invitation()): Promise<Joining> {
    const servers = serversDigest(listOf(0));
    const place = { gathering: this.link.id(), servers, secret };
    const joining = new Joining(place, 'https://a.example', this.storage as never, atOnce);
    void joining.open();
    await vi.advanceTimersByTimeAsync(5_000);
    return joining;
  }
}

const [ben, eve] = ['01', '02'].map((byte) => byte.repeat(32)) as [string, string];

test('the link and the latest word are believed, whichever server shows them', async () => {
  const place = new Place();
  const [a, b, c] = place.shows;
  a!.gathering = toBase64(linkBy(8).bytes());
  b!.word = wordOf(place.link, 2, [ben]);
  c!.word = wordOf(place.link, 1, [eve]);
  const joining = await place.follows();
  expect(joining.stage).toEqual({ at: 'open' });
  expect(joining.about?.question).toBe('Shall we?');
  expect(joining.said).toMatchObject({ number: 2, admitted: [ben] });
  // Whoever passes over what was heard changes nothing, nor does what the creator has not signed.
  b!.word = wordOf(linkBy(7, 'Where?'), 9, [eve]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(joining.said).toMatchObject({ number: 2, admitted: [ben] });
  c!.word = wordOf(place.link, 3, [ben, eve]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(joining.said).toMatchObject({ number: 3, admitted: [ben, eve] });
  joining.close();
});

test('what a creator says has a number above all that it said and heard', async () => {
  const place = new Place();
  place.shows[1]!.word = wordOf(place.link, 4, []);
  const joining = await place.follows();
  expect(joining.creates).toBe(true);
  const admit = (...people: string[]) =>
    joining.say(() => ({
      admitted: people.map((account) => ({ name: 'x', account })),
      refused: [],
    }));
  await admit(ben);
  expect(joining.said).toMatchObject({ number: 5, admitted: [ben] });
  expect(place.given.map(([server]) => server)).toEqual(['a', 'b', 'c']);
  expect(joining.kept?.number).toBe(5);
  // What no server takes was not said, but its number is used up.
  place.statuses = [403, 403, 403];
  await admit(ben, eve);
  expect(joining.complaint).not.toBeNull();
  expect(joining.said).toMatchObject({ number: 5, admitted: [ben] });
  place.statuses = [204, 403, 403];
  await admit(eve);
  expect(joining.said).toMatchObject({ number: 7, admitted: [eve] });
  const last = place.link.hear(JSON.stringify(place.given.slice(-1).map(([, word]) => word)));
  expect(JSON.parse(last ?? '')).toMatchObject({ number: 7, admitted: [eve] });
  joining.close();
});

test('another link than the one of the address is not followed, nor one that is incomplete', async () => {
  const place = new Place();
  const incomplete = await place.follows(keyOf(10).invitation());
  const reason = reasonOf(new LocalizedError(t.incomplete), 'decide');
  expect(incomplete.stage).toEqual({ at: 'failed', reason });
  for (const shown of place.shows) shown.gathering = toBase64(linkBy(8).bytes());
  const other = await place.follows();
  expect(other.stage).toMatchObject({ at: 'failed' });
  expect(other.about).toBeNull();
});
