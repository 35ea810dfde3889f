// A committee as the page sees it: all members are asked, and nothing is believed that is not
// signed by all of them, or named by the link.

import { t } from '../../i18n/ask';
import type { Filled } from '../../lib/servers/address';
import { HttpServer, Problem } from '../../lib/servers/api';
import { secureRandom, type Clock } from '../../lib/page/clock';
import { DeviceKey, announcementsOf } from '../../lib/page/cryptography';
import { isTransient, retrying } from '../../lib/servers/retrying';
import {
  Malformed,
  count,
  flag,
  list,
  oneOf,
  opaque,
  optional,
  record,
  text,
  type Of,
  type Shape,
} from '../../lib/servers/shape';
import { LocalizedError } from '../../lib/servers/localized';

const committeeShape = record({ name: text, members: list(record({ name: text, url: text })) });

const viewShape = record({
  inputs: count,
  phase: record({
    is: oneOf('collecting', 'sealing', 'computing', 'done', 'too-few', 'cancelled', 'stopped'),
  }),
  progress: optional(record({ stage: text, done: count, of: count, sent: count })),
});

export type View = Of<typeof viewShape>;

/** A member and its reason. */
const reasonShape: Shape<[number, string]> = (value) => {
  const [member, why] = list(opaque)(value);
  return [count(member), text(why)];
};

/** What members have signed of an end without a result: whose, by their numbers. */
const heardShape = record({ cancelled: flag, opened: list(count), stopped: list(reasonShape) });

type Heard = Of<typeof heardShape>;

/** How far a computation is. What one member says is shown, and ends nothing. */
export interface Standing {
  /**
   * What a member shows that takes answers, if one does; else what the farthest shows. `null` while
   * none answers, or all that do have given up by their own word alone.
   */
  view: View | null;
  /** Whether a member says that the result is there. */
  ended: boolean;
  /**
   * Who had begun to open what its creator has taken back, by their own signed word; `null` if it
   * was not taken back.
   */
  cancelled: string[] | null;
  /** Who was the first to sign that there will be no result, and why. */
  stopped: [string, string] | null;
}

/** One member over HTTP. */
export class Member extends HttpServer {
  private at(path: string): Filled {
    return `/api/v1/${path}` as Filled;
  }

  committee(): Promise<string> {
    return this.ask(this.at('committee'));
  }

  create(draft: unknown): Promise<string> {
    return this.send('computations', JSON.stringify(draft));
  }

  view(id: string): Promise<string> {
    return this.ask(this.at(`computations/${id}`));
  }

  handIn(id: string, report: Uint8Array): Promise<string> {
    return this.bytes(`computations/${id}/inputs`, report);
  }

  announce(id: string, announcement: string): Promise<string> {
    return this.send(`computations/${id}/uploads`, announcement);
  }

  piece(id: string, upload: string, at: number, piece: Uint8Array): Promise<string> {
    return this.bytes(`computations/${id}/uploads/${upload}/${at}`, piece);
  }

  order(id: string, order: string): Promise<string> {
    return this.send(`computations/${id}/order`, order);
  }

  cancel(id: string, order: string): Promise<string> {
    return this.send(`computations/${id}/cancellation`, order);
  }

  statements(id: string): Promise<string> {
    return this.ask(this.at(`computations/${id}/statements`));
  }

  archive(id: string): Promise<string> {
    return this.ask(this.at(`computations/${id}/archive`));
  }

  private bytes(path: string, body: Uint8Array): Promise<string> {
    const headers = { 'content-type': 'application/octet-stream' };
    return this.ask(this.at(path), { method: 'POST', headers, body: body as BodyInit });
  }

  private send(path: string, body: string): Promise<string> {
    const headers = { 'content-type': 'application/json' };
    return this.ask(this.at(path), { method: 'POST', headers, body });
  }
}

/** A committee as one of its members shows it; not checked yet. */
export interface Found {
  name: string;
  names: string[];
  members: Member[];
  raw: string;
}

/** Asks the member that serves this page who its committee is. */
export async function find(origin: string): Promise<Found> {
  const raw = await new Member(origin).committee();
  const { name, members } = committeeShape(JSON.parse(raw));
  const names = members.map((member) => member.name);
  return { name, names, members: members.map(({ url }) => new Member(url)), raw };
}

/** What servers take of a long input at a time. */
const PIECE_BYTES = 1 << 20;
/** Bytes of an input before its body: key and signature. */
const HEAD = 32 + 64;

const uploadedShape = record({
  held: optional(record({ upload: text, bytes: count })),
  receipt: optional(opaque),
});
const pieceShape = record({ bytes: count });

interface Sending {
  clock: Clock;
  signal: AbortSignal;
  sent: (part: number) => void;
}

/** Hands a long input in at one member, from where that was broken off before; its receipt. */
async function inPieces(
  member: Member,
  id: string,
  [input, announcement]: [Uint8Array, string],
  { clock, signal, sent }: Sending,
): Promise<string> {
  const body = input.subarray(HEAD);
  const announce = async () =>
    uploadedShape(
      JSON.parse(await retrying(() => member.announce(id, announcement), clock, signal)),
    );
  const { held, receipt } = await announce();
  if (held === null) return JSON.stringify(receipt);
  for (let at = held.bytes; at < body.length;) {
    const piece = body.subarray(at, at + PIECE_BYTES);
    const place = at;
    const answer = await retrying(() => member.piece(id, held.upload, place, piece), clock, signal);
    at += piece.length;
    if (pieceShape(JSON.parse(answer)).bytes !== at) throw new Malformed('another length');
    sent((0.99 * at) / body.length);
  }
  // When all is there the member takes it as a whole.
  return JSON.stringify((await announce()).receipt);
}

/** What is checked of a computation, whatever is computed. */
interface Checked {
  admits(key: DeviceKey): boolean;
  isReceipt(input: Uint8Array, member: number, answer: string): boolean;
  order(creator: DeviceKey): string;
  cancellation(creator: DeviceKey): string;
  heard(statements: string[]): string;
}

/** What is handed in: the same bytes to all members. */
export interface Made {
  input: Uint8Array;
  /** What each member is told first of a long input. */
  announced: string[];
}

const NOTHING: Heard = { cancelled: false, opened: [], stopped: [] };
/** Looks between two questions for what members have signed, at most. */
const MOST_SKIPPED = 32;

const hasGivenUp = ({ phase }: View) => phase.is === 'cancelled' || phase.is === 'stopped';

/** The members together. */
export abstract class Committee {
  readonly names: string[];
  private readonly members: Member[];
  private readonly raw: string;
  /** What was heard last, at which claims, and how many looks it is still good for. */
  private known = { claims: '', heard: NOTHING, skips: 0, left: 0 };

  protected constructor(
    { names, members, raw }: Found,
    private readonly checked: Checked,
  ) {
    this.names = names;
    this.members = members;
    this.raw = raw;
  }

  /** Reads a computation from whichever member shows the one that the link names. */
  protected shown<T>(id: string, read: (view: string) => T): Promise<T> {
    return firstShown(this.members, id, read);
  }

  /** How far it is. */
  async standing(id: string): Promise<Standing> {
    const views = await this.views(id);
    const { cancelled, opened, stopped } = views.some(hasGivenUp)
      ? await this.heard(id, views)
      : NOTHING;
    const name = (member: number) => this.names[member] ?? '';
    // The others say that somebody has stopped.
    const first = stopped.find(([, why]) => !why.endsWith(' has stopped')) ?? stopped[0];
    return {
      view:
        views.find(({ phase }) => phase.is === 'collecting') ??
        views.find((view) => !hasGivenUp(view)) ??
        null,
      ended: views.some(({ phase }) => phase.is === 'done' || phase.is === 'too-few'),
      cancelled: cancelled ? opened.map(name) : null,
      stopped: first ? [name(first[0]), first[1]] : null,
    };
  }

  /**
   * What members have signed of the end, while one says that there is no result. That may be much
   * to send, so who says the same for long is asked ever more seldom.
   */
  private async heard(id: string, views: View[]): Promise<Heard> {
    const claims = views.map(({ phase }) => phase.is).join();
    const again = claims === this.known.claims;
    if (again && this.known.left > 0) {
      this.known.left--;
      return this.known.heard;
    }
    const answers = await Promise.allSettled(this.members.map((member) => member.statements(id)));
    const statements = answers.map((of) => (of.status === 'fulfilled' ? of.value : ''));
    const heard = heardShape(JSON.parse(this.checked.heard(statements)));
    const skips = again ? Math.min(MOST_SKIPPED, 2 * this.known.skips + 1) : 0;
    this.known = { claims, heard, skips, left: skips };
    return heard;
  }

  /** How far it is, as the members that answer say, the farthest first. */
  private async views(id: string): Promise<View[]> {
    const answers = await Promise.allSettled(
      this.members.map(async (member) => viewShape(JSON.parse(await member.view(id)))),
    );
    const order = ['done', 'too-few', 'cancelled', 'stopped', 'computing', 'sealing', 'collecting'];
    return answers
      .flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
      .sort((a, b) => order.indexOf(a.phase.is) - order.indexOf(b.phase.is));
  }

  admits(key: DeviceKey): boolean {
    return this.checked.admits(key);
  }

  /** What a contributor tells each member before a long input is handed in; nothing of a short. */
  announcements(id: string, input: Uint8Array, contributor: DeviceKey): string[] {
    return input.length <= PIECE_BYTES ? [] : announcementsOf(this.raw, id, input, contributor);
  }

  /**
   * Hands an input in at all members; throws unless all have given their receipts. `taken` hears
   * how much of it each member has, from 0 to 1.
   */
  async handIn(
    id: string,
    { input, announced }: Made,
    clock: Clock,
    signal: AbortSignal,
    taken: (member: number, part: number) => void = () => undefined,
  ): Promise<void> {
    await this.all(async (member, number) => {
      const answer =
        input.length <= PIECE_BYTES
          ? await retrying(() => member.handIn(id, input), clock, signal)
          : await inPieces(member, id, [input, announced[number] ?? ''], {
              clock,
              signal,
              sent: (part) => taken(number, part),
            });
      if (!this.checked.isReceipt(input, number, answer))
        throw new LocalizedError(t.noReceipt(this.names[number] ?? ''));
      taken(number, 1);
    });
  }

  /**
   * Gives the creator's order to close; one member that takes it passes it on. It is not given
   * while no member shows as many answers as the `minimum`.
   */
  async close(id: string, creator: DeviceKey, minimum: number): Promise<void> {
    const most = Math.max(0, ...(await this.views(id)).map(({ inputs }) => inputs));
    if (most < minimum) throw new LocalizedError(t.early(minimum - most));
    const order = this.checked.order(creator);
    await this.any((member) => member.order(id, order));
  }

  /** Gives the creator's cancellation to all members; one that takes it passes it on. */
  async cancel(id: string, creator: DeviceKey): Promise<void> {
    const order = this.checked.cancellation(creator);
    await this.any((member) => member.cancel(id, order));
  }

  /** Tells all members, of whom one has to take it. Who says no says more than who is silent. */
  private async any(tell: (member: Member) => Promise<string>): Promise<void> {
    const answers = await Promise.allSettled(this.members.map(tell));
    if (answers.some((answer) => answer.status === 'fulfilled')) return;
    const reasons = answers.map((answer): unknown => (answer as PromiseRejectedResult).reason);
    throw reasons.find((reason) => !isTransient(reason)) ?? reasons[0];
  }

  /** What `verify` makes of the archive of whichever member shows one that is proved. */
  protected async proved<T>(id: string, verify: (archive: string) => T): Promise<T> {
    let reason: unknown = new LocalizedError(t.unproven);
    for (const member of this.members) {
      try {
        if (await isBehind(member, id)) continue;
        return verify(await member.archive(id));
      } catch (error) {
        reason = error;
      }
    }
    throw isTransient(reason) ? new LocalizedError(t.unproven) : reason;
  }

  protected all<T>(act: (member: Member, number: number) => Promise<T>): Promise<T[]> {
    return Promise.all(this.members.map(act));
  }
}

/**
 * Whether a member has no result yet, though others may. Of one that knows the computation no more
 * the archive alone is left.
 */
async function isBehind(member: Member, id: string): Promise<boolean> {
  try {
    const { phase } = viewShape(JSON.parse(await member.view(id)));
    return phase.is !== 'done' && phase.is !== 'too-few';
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return false;
    throw error;
  }
}

/** What `read` makes of the view of whichever member shows the computation that a link names. */
export async function firstShown<T>(
  members: Member[],
  id: string,
  read: (view: string) => T,
): Promise<T> {
  let reason: unknown = new LocalizedError(t.unknown);
  for (const member of members) {
    try {
      return read(await member.view(id));
    } catch (error) {
      if (error instanceof Problem && error.status === 404) continue;
      reason = error;
    }
  }
  throw reason;
}

/** What all have signed, without what one says of it besides: as the program verifies it. */
export function signed(archive: string): string {
  return JSON.stringify(record({ archive: opaque })(JSON.parse(archive)).archive);
}

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>;

const CREATOR = 'ostrakon/asked/';
const REPORT = 'ostrakon/reported/';

/** A creator's key on this device, as the last part of a link. */
export function keepCreator(storage: Storage, id: string, key: DeviceKey): void {
  storage.setItem(CREATOR + id, key.invitation());
}

export function creatorOf(storage: Storage, id: string): DeviceKey | null {
  const kept = storage.getItem(CREATOR + id);
  return kept === null ? null : DeviceKey.fromInvitation(kept);
}

/** A report on this device: the same bytes go to all members, also after a reload. */
export interface KeptReport {
  report: string;
  done: boolean;
}

const keptShape = record({ report: text, done: flag });

export function keptReport(storage: Storage, id: string, person: string): KeptReport | null {
  const kept = storage.getItem(`${REPORT}${id}/${person}`);
  return kept === null ? null : keptShape(JSON.parse(kept));
}

export function keepReport(storage: Storage, id: string, person: string, kept: KeptReport): void {
  storage.setItem(`${REPORT}${id}/${person}`, JSON.stringify(kept));
}

/**
 * Keeps a report unless there is one, and returns the one that stands there: two tabs that answer
 * at the same time hand in the same, since of a key that signs two neither counts.
 */
export function keepFirstReport(
  storage: Storage,
  id: string,
  person: string,
  made: KeptReport,
): KeptReport {
  const found = keptReport(storage, id, person);
  if (!found) keepReport(storage, id, person, made);
  return found ?? made;
}

/** Milliseconds between two looks, so that pages that were opened together do not ask in step. */
export const pause = (): number => 600 + 600 * secureRandom();
