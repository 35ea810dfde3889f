// A room without a clock as the page sees it: every server is visited by itself, so that one that
// does not answer holds nothing up, and nothing is believed that is not signed, or said by more
// servers than may lie.

import { t } from './messages';
import { fromBase64, toBase64 } from '../../lib/servers/api';
import { secureRandom, type Clock } from '../../lib/page/clock';
import { MixRoom, type MixVisitor } from '../../lib/page/cryptography';
import {
  Malformed,
  count,
  flag,
  list,
  oneOf,
  optional,
  record,
  text,
  type Of,
} from '../../lib/servers/shape';
import { LocalizedError } from '../../lib/servers/localized';

const aboutShape = record({
  name: text,
  servers: list(record({ name: text, url: text })),
  corrupt: count,
  places: count,
  limit: count,
  seconds: count,
  minimum: count,
  open: flag,
});

const hereShape = record({
  entries: count,
  epoch: optional(count),
  places: count,
  rows: count,
  waited: count,
  mixing: count,
  ready: count,
  ended: optional(oneOf('convicted', 'away', 'spoilt')),
  convicted: list(
    record({
      server: count,
      deed: oneOf('other_seed', 'false_numbers', 'false_result', 'false_complaint'),
    }),
  ),
  silent: list(count),
  admitted: flag,
  message: optional(text),
  handed: flag,
  covers: flag,
  left_out: flag,
  in: flag,
});

const newsShape = list(
  record({ kind: oneOf('in', 'published', 'covered', 'again', 'unknown'), epoch: count }),
);

const entriesShape = list(
  record({ epoch: count, accepted: count, few: flag, messages: list(text) }),
);

export type About = Of<typeof aboutShape>;
export type Here = Of<typeof hereShape>;
export type News = Of<typeof newsShape>[number];
export type Entry = Of<typeof entriesShape>[number];

/** Milliseconds of the visitor's clock, between two visits of a server, and for an answer. */
const TICK = 250;
const PAUSE = 400;
const PATIENCE = 15_000;
/** Bytes of an answer that are read at most. */
const MOST = 64 << 20;

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>;

const KEPT = 'ostrakon/mix/';

/** What this device keeps of a room; `person` tells invitations apart. */
const nameOf = (digest: string, seed: string | undefined) => `${KEPT}${digest}/${seed ?? ''}`;

/** Only one tab takes part as this device. */
export const lockOf = (digest: string, seed: string | undefined) => nameOf(digest, seed);

async function asked(address: string, init: RequestInit, signal: AbortSignal): Promise<Uint8Array> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]);
  const response = await fetch(address, {
    cache: 'no-store',
    credentials: 'omit',
    ...init,
    signal: limit,
  });
  if (!response.ok) throw new Malformed(`status ${response.status}`);
  const reader = response.body?.getReader();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done || !value) break;
    bytes += value.length;
    if (bytes > MOST) {
      void reader?.cancel();
      throw new Malformed(`it has more than ${MOST} bytes`);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A room that a link leads to. */
export class Mixing {
  readonly about: About;

  private constructor(
    private readonly room: MixRoom,
    readonly digest: string,
    private readonly seed: string | undefined,
  ) {
    this.about = aboutShape(JSON.parse(room.about()));
  }

  /** Reads the room's description from the server of this page. */
  static async open(origin: string, digest: string, seed?: string): Promise<Mixing> {
    let raw;
    try {
      const bytes = await asked(`${origin}/api/v1/mix`, {}, new AbortController().signal);
      raw = new TextDecoder().decode(bytes);
    } catch {
      throw new LocalizedError(t.away);
    }
    try {
      return new Mixing(new MixRoom(raw, digest), digest, seed);
    } catch {
      throw new LocalizedError(t.other);
    }
  }

  get isTrial(): boolean {
    return this.about.minimum === 1;
  }

  /** Whether this device has taken part before, or holds a link of its own. */
  hasJoined(storage: Storage): boolean {
    return storage.getItem(nameOf(this.digest, this.seed)) !== null;
  }

  watch(): Visit {
    return new Visit(this.about, this.room.watch(), () => undefined);
  }

  /** Takes part with what is kept on this device. */
  join(storage: Storage): Visit {
    const name = nameOf(this.digest, this.seed);
    const kept = storage.getItem(name);
    const visitor = this.room.takePart(kept === null ? undefined : fromBase64(kept), this.seed);
    let last = kept;
    return new Visit(this.about, visitor, () => {
      const bytes = visitor.kept();
      const now = bytes ? toBase64(bytes) : null;
      // What cannot be kept must not leave: then this throws.
      if (now !== null && now !== last) storage.setItem(name, now);
      last = now;
    });
  }
}

/** A device that visits a room's servers. */
export class Visit {
  /** The board, as far as it is known. */
  board: Entry[] = [];

  constructor(
    private readonly about: About,
    private readonly visitor: MixVisitor,
    private readonly keep: () => void,
  ) {}

  here(): Here {
    return hereShape(JSON.parse(this.visitor.here()));
  }

  /** Takes a message to be said; throws while the one before is on its way. */
  say(message: string): void {
    this.visitor.say(message);
    this.keep();
  }

  /** Gives the message back; `null` if it is handed in. */
  takeBack(): string | null {
    const message = this.visitor.takeBack() ?? null;
    this.keep();
    return message;
  }

  /** Visits all servers until `signal`; tells what changes. */
  async run(clock: Clock, signal: AbortSignal, changed: (news: News[]) => void): Promise<void> {
    const servers = this.about.servers.map(async ({ url }, server) => {
      while (!signal.aborted) {
        await this.visit(server, `${url}/api/v1/mix`, signal, changed);
        await clock.sleep(PAUSE * (0.75 + secureRandom() / 2), signal);
      }
    });
    const ticking = async () => {
      while (!signal.aborted) {
        await clock.sleep(TICK, signal);
        this.visitor.tick();
        changed([]);
      }
    };
    await Promise.all([...servers, ticking()]);
  }

  private async visit(
    server: number,
    address: string,
    signal: AbortSignal,
    changed: (news: News[]) => void,
  ): Promise<void> {
    // What is asked depends on what was kept before.
    this.keep();
    const body = this.visitor.ask(server);
    let answer;
    try {
      answer = await asked(address, { method: 'POST', body: body as BodyInit }, signal);
    } catch {
      return;
    }
    let news: News[];
    try {
      news = newsShape(JSON.parse(this.visitor.take(server, answer)));
    } catch {
      return;
    }
    this.keep();
    const known = (this.board.at(-1)?.epoch ?? -1) + 1;
    const all = this.here().entries;
    if (this.board.length === 0 || known < all || (this.board[0]?.epoch ?? 0) > 0)
      this.board = entriesShape(JSON.parse(this.visitor.entries(0)));
    changed(news);
  }
}
