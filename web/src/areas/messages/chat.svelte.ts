// One room for messages as this device takes part in it: a row in every round, every board read,
// and what its user says meanwhile.

import { ended, systemClock } from '../../lib/page/clock';
import { roomPath } from '../../lib/page/addresses';
import {
  DeviceKey,
  Messenger,
  type Participant,
  beginFollowing,
  beginTakingPart,
  loadCryptography,
} from '../../lib/page/cryptography';
import { WrongServers, connectAny, type Deployment, type Pin } from '../../lib/servers/deployment';
import { Kept } from '../../lib/rooms/known/kept';
import { takePart, type Part } from '../../lib/rooms/part/participant';
import { reasonOf, type Reason } from '../../lib/servers/reason';
import { Following, type Report, type Sight } from '../../lib/rooms/seen/following';
import { unlist, visit } from '../../lib/rooms/known/visited';
import { readEvents, readMessages, readView, type Event, type Message, type View } from './client';
import { Keeping, lockOf } from './keeping';

/**
 * How far opening the room has come. `elsewhere`: another tab of this browser takes part. `new`:
 * this device has no contacts here yet, and its user decides.
 */
export type Stage =
  | { at: 'connecting' }
  | { at: 'wrong-servers'; server: string }
  | { at: 'insecure' }
  | { at: 'failed'; reason: Reason }
  | { at: 'elsewhere' }
  | { at: 'new'; deployment: Deployment }
  | { at: 'open'; deployment: Deployment };

export interface Alarm {
  server: string;
  reason: string;
}

export class Chat {
  stage = $state.raw<Stage>({ at: 'connecting' });
  view = $state.raw<View>({ name: '', limit: 0, read: null, contacts: [], links: [] });
  part = $state.raw<Part>({ at: 'looking' });
  reports = $state.raw<Report[]>([]);
  alarms = $state.raw<Alarm[]>([]);
  /** What happened last. */
  events = $state.raw<Event[]>([]);
  /** Contacts to whom another copy of this device's contacts has written, or who pretend so. */
  copied = $state.raw<number[]>([]);
  /** The minimum that a host has lowered: until the user agrees, nothing is handed in. */
  eased = $state<number | null>(null);
  /** Whether this device could write down what it knows. While it cannot, nothing is handed in. */
  keeping = $state(true);
  /** Counts what was read, so that what is shown of conversations is looked up anew. */
  private turns = $state(0);

  private messenger: Messenger | null = null;
  private kept: Keeping | null = null;
  /** The room's documents, so that what was said can be read without a network. */
  private readonly documents = new Kept();
  private readonly ended = new AbortController();
  private begin: (name: string) => void = () => undefined;

  constructor(readonly pin: Pin) {}

  /** Opens the room and takes part until {@link Chat.close}. */
  async open(): Promise<void> {
    if (!globalThis.isSecureContext) {
      this.stage = { at: 'insecure' };
      return;
    }
    const { signal } = this.ended;
    try {
      await loadCryptography();
      const documents = await this.documents.room(this.pin.room);
      const deployment = await connectAny(this.pin, location.origin, documents);
      if (signal.aborted) return;
      if (!deployment.messages) return location.replace(roomPath(this.pin));
      await this.alone(deployment, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.stage =
        error instanceof WrongServers
          ? { at: 'wrong-servers', server: error.server }
          : { at: 'failed', reason: reasonOf(error) };
    }
  }

  close(): void {
    this.ended.abort();
    this.kept?.close();
  }

  /** The user takes part from now on, under a name that those see whom it calls. */
  start(name: string): void {
    this.begin(name);
  }

  /** What was said with a contact. */
  messages(contact: number): Message[] {
    void this.turns;
    return this.messenger ? readMessages(this.messenger.messages(contact)) : [];
  }

  /** The contact that is known by a link. */
  contactOf(link: string): number | undefined {
    return this.messenger?.contactOf(link);
  }

  /** Does what the user asks for, and writes it down. Throws why it cannot be done. */
  async act<T>(does: (messenger: Messenger) => T): Promise<T> {
    if (!this.messenger) throw new Error('the room is not open');
    const done = does(this.messenger);
    await this.note();
    return done;
  }

  /** The user agrees to hide among as many as the servers ask for now. */
  agree(): void {
    if (this.eased !== null) this.messenger?.agree(this.eased);
    this.eased = null;
  }

  /** Forgets this device's contacts, links and messages in this room. */
  async forget(): Promise<void> {
    this.ended.abort();
    await this.kept?.forget();
    this.kept?.close();
    await this.documents.forget(this.pin.room);
    unlist(localStorage, this.pin.room);
  }

  /** One tab of a browser takes part, so that nothing is ever used twice. */
  private async alone(deployment: Deployment, signal: AbortSignal): Promise<void> {
    const name = lockOf(this.pin.room);
    const taken = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
      if (lock) await this.live(deployment, signal);
      return lock !== null;
    });
    if (taken || signal.aborted) return;
    this.stage = { at: 'elsewhere' };
    await navigator.locks.request(name, { signal }, () => this.live(deployment, signal));
  }

  private async live(deployment: Deployment, signal: AbortSignal): Promise<void> {
    const kept = await Keeping.open(this.pin.room);
    this.kept = kept;
    const { servers, descriptor } = deployment;
    const { origin } = location;
    this.messenger =
      kept.sealed === null
        ? await this.introduced(deployment, signal)
        : Messenger.open(servers, descriptor, origin, kept.key, kept.sealed);
    const { messenger } = this;
    if (signal.aborted || !messenger) return;
    await this.note();
    const visited = { ...this.pin, name: deployment.name, at: systemClock.now(), messages: true };
    visit(localStorage, visited);
    void this.documents.keepRoom(this.pin.room, { servers, descriptor: JSON.parse(descriptor) });
    this.stage = { at: 'open', deployment };
    await this.takePart(deployment, messenger, signal);
  }

  /** The first client of this device here, once its user has chosen a name; `null` if it left. */
  private async introduced(deployment: Deployment, signal: AbortSignal): Promise<Messenger | null> {
    this.stage = { at: 'new', deployment };
    const name = await new Promise<string | null>((resolve) => {
      this.begin = resolve;
      signal.addEventListener('abort', () => resolve(null), { once: true });
    });
    if (name === null) return null;
    return Messenger.create(deployment.servers, deployment.descriptor, location.origin, name);
  }

  private async takePart(
    deployment: Deployment,
    messenger: Messenger,
    signal: AbortSignal,
  ): Promise<void> {
    const servers = deployment.operators.map((operator) => operator.api);
    const machine = beginFollowing(deployment);
    const saw = (sight: Sight) => {
      if (sight.do === 'heard') this.reports = [...following.reports];
      else if (sight.do === 'entries') this.heard(messenger, readEvents(machine.tell(messenger)));
      else if (sight.do === 'forged') {
        const server = deployment.operators[sight.party]?.name ?? String(sight.party);
        this.alarms = [...this.alarms, { server, reason: sight.why }];
      }
    };
    const looked = () => {
      const over = machine.over();
      if (over !== undefined) this.heard(messenger, readEvents(messenger.over(over)));
    };
    const onlooker = { saw, looked, keeps: () => false };
    const following = new Following(machine, servers, systemClock, signal, onlooker);
    following.happened((now) => machine.wake(now));
    const participant = {
      servers,
      words: following,
      clock: systemClock,
      // Its key is fresh whenever the page is opened: nothing connects two visits but the network.
      begin: () => beginTakingPart(deployment, DeviceKey.generate()),
      fill: async (part: Participant, epoch: number, minimum: number) => {
        part.fillRow(messenger, BigInt(epoch), minimum);
        this.eased = messenger.eased() ?? null;
        // The round is used up on the disk before a byte of its row exists outside this device.
        return this.note();
      },
      moved: (part: Part) => (this.part = part),
    };
    // It stays as long as the page is open, whether anybody looks or not: who is there only to talk
    // shows when.
    await (deployment.closed ? ended(signal) : takePart(participant, signal));
  }

  private heard(messenger: Messenger, events: Event[]): void {
    const before = this.view.read;
    if (events.length === 0 && readView(messenger.view()).read === before) return;
    if (events.length > 0) this.events = events;
    const copied = events.filter(({ event }) => event === 'copied').map(({ contact }) => contact);
    if (copied.length > 0) {
      const known = copied.filter((contact) => contact !== undefined);
      this.copied = [...new Set([...this.copied, ...known])];
    }
    void this.note();
  }

  /** Writes everything down, and then shows it. Whether it is on the disk. */
  private async note(): Promise<boolean> {
    const { messenger, kept } = this;
    if (!messenger || !kept) return false;
    const written = await kept.save(messenger.seal(kept.key)).then(
      () => true,
      () => false,
    );
    this.keeping = written || this.ended.signal.aborted;
    this.view = readView(messenger.view());
    this.turns++;
    return written;
  }
}
