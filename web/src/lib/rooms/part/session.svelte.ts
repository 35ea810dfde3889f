// One open room as this device takes part in it: what is its own, and what its user can do.

import { t as common } from '../../../i18n/common';
import { Attention, browserSenses } from './attention';
import { claimedBy, takeInvitation } from './claiming';
import { ended, systemClock } from '../../page/clock';
import { DeviceKey, beginClaiming, beginTakingPart } from '../../page/cryptography';
import type { Deployment, Pin } from '../../servers/deployment';
import { errorOf } from '../../hosts/acting';
import type { Answer, Ballot } from '../../hosts/hostlog';
import { RoomStore, lockOf } from './outbox';
import { takePart, type Part, type Surroundings } from './participant';
import { answeredAgain } from '../../hosts/wall/polls';
import { reasonOf, type Reason } from '../../servers/reason';
import { LocalizedError } from '../../servers/localized';
import { isClosed } from '../seen/view';
import { Viewing } from '../seen/viewing.svelte';
import { unlist, visit } from '../known/visited';
import type { Reading } from '../seen/following';

/**
 * Where this page stands. `reading`: its user has not decided to take part. `elsewhere`: another
 * tab of this browser takes part. `claiming`: this device takes its invitation; `failure` says why
 * that has not succeeded yet. `outside`: no host has admitted this device's key, or one has
 * dismissed it. `moved`: another device goes on with it. `resting`: nobody was there for a while.
 */
export type Standing =
  | Part
  | { at: 'reading' }
  | { at: 'elsewhere' }
  | { at: 'claiming'; failure: Reason | null }
  | { at: 'outside' }
  | { at: 'moved' }
  | { at: 'resting' };

/** The device's own message, until it is on the wall. */
export interface OwnMessage {
  text: string;
  /** The epoch that it was put into; `null` while it waits for the next. */
  epoch: number | null;
  /** The epoch in which it may have been read without coming out: it waits for its author. */
  held: number | null;
}

/** What last became of the own message. */
export type News =
  | { kind: 'published'; epoch: number; among: number; signers: number[]; erased: boolean }
  | { kind: 'again'; epoch: number | null }
  | null;

const homeName = (room: string) => `ostrakon/home/${room}`;

/** The server that this tab was present at before it was reloaded. */
function homeBefore(room: string): number | undefined {
  const kept = sessionStorage.getItem(homeName(room));
  return kept === null ? undefined : Number(kept);
}

function rememberHome(room: string, home: number): void {
  try {
    sessionStorage.setItem(homeName(room), String(home));
  } catch {
    // After a reload another home does as well.
  }
}

export class Session extends Viewing {
  part = $state.raw<Standing>({ at: 'looking' });
  own = $state.raw<OwnMessage | null>(null);
  news = $state.raw<News>(null);
  ballots = $state.raw<Ballot[]>([]);
  /** This device's public key in the room. */
  key = $state('');
  /** Whether its user has decided to take part. */
  joined = $state(false);
  /** The least minimum that this device's user has agreed to; `null` before it takes part. */
  agreed = $state<number | null>(null);
  /** Whether a host has lowered the minimum below that: until the user agrees, nothing is said. */
  readonly eased = $derived(this.agreed !== null && this.minimum < this.agreed);
  /** Whether this device could write down what it keeps. While it cannot, nothing is handed in. */
  keeping = $state(true);

  /**
   * The public key of the invitation that this device has not taken yet; empty if there is none.
   */
  private invitation = $state('');
  /** This device's key, as it was kept before. */
  private before = $state('');
  /** How that invitation stands. */
  readonly claimed = $derived(claimedBy(this.log, this.invitation, this.key || this.before));

  private store: RoomStore | null = null;
  /** The minimum that its user saw when it joined. */
  private shown: number | null = null;
  /** Wakes what waits for the user's decision or for the host's. */
  private changed: (() => void)[] = [];

  constructor(
    pin: Pin,
    /** The secret of an invitation link. */
    private readonly seed?: string,
  ) {
    super(pin);
    this.joined = RoomStore.known(localStorage, pin.room) && seed === undefined;
  }

  /** The user takes part from now on. */
  join(): void {
    this.joined = true;
    this.shown = this.minimum;
    this.wake();
  }

  /** The user agrees to hide among as many as the host asks for now. */
  agree(): void {
    this.change(({ outbox }) => outbox.agree(this.minimum));
  }

  /** Leaves the room and forgets it. */
  forget(): void {
    this.close();
    this.store?.forget();
    unlist(localStorage, this.pin.room);
    sessionStorage.removeItem(homeName(this.pin.room));
    this.joined = false;
    void this.kept.forget(this.pin.room);
  }

  /** Stops here for good, so that another device can go on: returns what that one has to open. */
  move(): string | null {
    this.close();
    return this.store?.move() ?? null;
  }

  /**
   * Goes on here with the key that another device gave up, in the file `text`. Throws what is wrong
   * with it.
   */
  async bring(text: string): Promise<void> {
    const bring = () => RoomStore.adopt(localStorage, this.pin.room, text);
    const { store } = this;
    if (store) {
      // This tab holds the room's lock.
      bring();
      store.release();
      return this.close();
    }
    await navigator.locks.request(lockOf(this.pin.room), { ifAvailable: true }, (lock) => {
      if (!lock) throw new LocalizedError(common.refusal.sameKey);
      bring();
    });
    this.close();
  }

  protected override keeps(): boolean {
    return this.joined;
  }

  /** Keeps `text` on this device until it is on the wall. */
  say(text: string): void {
    this.change(({ outbox }) => outbox.put(text));
    this.news = null;
  }

  /** Gives the message back, which then is not said; `null` if that is too late. */
  takeBack(): string | null {
    let text: string | undefined;
    try {
      this.change(({ outbox }) => (text = outbox.takeBack()));
    } catch {
      // It has just been handed in; what is shown says so.
    }
    return text ?? null;
  }

  /** Keeps an answer for the poll's epoch; throws if that is too late. */
  answer(poll: number, answer: Answer): void {
    this.change(({ outbox }) => this.hostLog?.answer(outbox, BigInt(poll), JSON.stringify(answer)));
  }

  /** The answer to a poll that this device keeps. */
  answerTo(poll: number): Answer | null {
    void this.ballots;
    const kept = this.store && this.hostLog?.ownAnswer(this.store.outbox, BigInt(poll));
    return kept ? (JSON.parse(kept) as Answer) : null;
  }

  /** Answers a question that is asked again, since nothing came of it, as before. */
  private repeatAnswers(): void {
    const progress = this.progress(null);
    for (const poll of this.log.polls) {
      const before = answeredAgain(poll, this.log.polls, progress, this.ballots);
      const answer = before && this.answerTo(before.number);
      if (!answer) continue;
      try {
        this.answer(poll.number, answer);
      } catch {
        // It is too late; the page says so.
      }
    }
  }

  private change(act: (store: RoomStore) => void): void {
    if (!this.store) return;
    act(this.store);
    // What cannot be written down now stays on this page; nothing of it leaves before it is.
    this.store.trySave();
    this.showOwn();
  }

  protected override async live(deployment: Deployment, signal: AbortSignal): Promise<void> {
    const glance = RoomStore.glance(localStorage, this.pin.room);
    this.before = glance?.key ?? '';
    const seed = this.seed ?? glance?.invitation ?? undefined;
    if (seed !== undefined && deployment.members)
      this.invitation = DeviceKey.fromInvitation(seed).publicKey();
    if (!this.joined) {
      this.part = { at: 'reading' };
      await this.until(() => this.joined, signal);
    }
    if (!signal.aborted) await this.inTurn(deployment, signal);
  }

  /**
   * One tab of a browser takes part in a room, the others look on: so nothing is ever said in two
   * ways.
   */
  private async inTurn(deployment: Deployment, signal: AbortSignal): Promise<void> {
    const name = lockOf(this.pin.room);
    const taken = await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
      if (lock) await this.takePart(deployment, signal);
      return lock !== null;
    });
    if (taken || signal.aborted) return;
    this.part = { at: 'elsewhere' };
    await navigator.locks.request(name, { signal }, () => this.takePart(deployment, signal));
  }

  private async takePart(deployment: Deployment, signal: AbortSignal): Promise<void> {
    const store = RoomStore.open(
      localStorage,
      this.pin.room,
      deployment.members ? this.seed : undefined,
    );
    this.store = store;
    store.watch = (kept) => (this.keeping = kept);
    const asked = this.shown ?? deployment.minimum;
    if (store.outbox.agreed() === undefined || this.shown !== null) store.outbox.agree(asked);
    this.key = store.key.publicKey();
    if (store.moved) {
      this.part = { at: 'moved' };
      return;
    }
    this.showOwn();
    const reader = {
      outbox: store.outbox,
      save: () => void store.trySave(),
      again: (epoch: number) => {
        if (this.own) this.news = { kind: 'again', epoch };
        this.showOwn();
        this.repeatAnswers();
      },
    };
    visit(localStorage, { ...this.pin, name: deployment.name, at: systemClock.now() });
    void this.kept.keepRoom(this.pin.room, {
      servers: deployment.servers,
      descriptor: JSON.parse(deployment.descriptor),
    });
    this.keepActions();
    this.readAnew(reader);
    const surroundings = this.surroundings(deployment, store);
    const part = async (until: AbortSignal) => {
      // A room that is closed takes nothing more, and would be asked again and again.
      while (!until.aborted && !isClosed(this.reports, deployment.trust)) {
        await this.admission(deployment, store, until);
        await this.whileAdmitted(deployment, until, (signal) => takePart(surroundings, signal));
      }
    };
    const attention = new Attention(browserSenses, systemClock, signal);
    await (deployment.closed
      ? ended(signal)
      : attention.during(signal, part, () => (this.part = { at: 'resting' })));
  }

  private surroundings(deployment: Deployment, store: RoomStore): Surroundings {
    this.part = { at: 'looking' };
    let before = homeBefore(this.pin.room);
    return {
      servers: this.servers(deployment),
      words: this.words(),
      clock: systemClock,
      begin: () => {
        // Whoever comes back is still counted where it was; whoever rested is not.
        const home = before;
        before = undefined;
        return beginTakingPart(deployment, store.key, home);
      },
      fill: (machine, epoch, minimum) => {
        machine.fill(store.outbox, BigInt(epoch), minimum);
        // What is in the epoch is decided and written down before a byte of it exists outside this
        // device.
        return store.trySave();
      },
      moved: (part) => {
        this.part = part;
        if (part.at !== 'looking') rememberHome(this.pin.room, part.home);
        this.showOwn();
      },
    };
  }

  /** Runs `part` until the host dismisses this device's key or `signal` aborts. */
  private async whileAdmitted(
    deployment: Deployment,
    signal: AbortSignal,
    part: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    const running = part(until);
    await Promise.race([
      running,
      this.until(
        () => !this.admitted(deployment) || isClosed(this.reports, deployment.trust),
        until,
      ),
    ]);
    over.abort();
    await running;
  }

  private admitted({ members }: Deployment): boolean {
    return !members || (this.hostLog?.admits(this.key) ?? false);
  }

  /**
   * Waits until this device's key may take part, and takes its invitation for it, where that is
   * needed.
   */
  private async admission(
    deployment: Deployment,
    store: RoomStore,
    signal: AbortSignal,
  ): Promise<void> {
    const admitted = () => this.admitted(deployment);
    /** Whether it is known that no host has. */
    const settled = () => this.informed || this.recalled || this.log.former.has(this.key);
    while (!signal.aborted && !admitted()) {
      const over = new AbortController();
      const claims = this.claimed === 'open' && store.invitation !== null;
      if (claims) this.claim(deployment, store, AbortSignal.any([signal, over.signal]));
      else this.part = { at: settled() ? 'outside' : 'looking' };
      const before = [this.claimed, claims || settled()];
      const changed = () => this.claimed !== before[0] || (claims || settled()) !== before[1];
      await this.until(() => admitted() || changed(), signal);
      over.abort();
    }
    if (admitted() && store.invitation !== null) store.settle();
  }

  /** Claims the invitation for this device's key until `signal` aborts. */
  private claim(deployment: Deployment, store: RoomStore, signal: AbortSignal): void {
    const invitation = DeviceKey.fromInvitation(store.invitation ?? '');
    const machine = beginClaiming(deployment, invitation, store.key);
    this.part = { at: 'claiming', failure: null };
    takeInvitation(machine, this.servers(deployment), systemClock, signal, (failure) => {
      this.part = { at: 'claiming', failure: failure && reasonOf(errorOf(failure), 'claim') };
    });
  }

  private until(met: () => boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (signal.aborted || met()) resolve();
        else this.changed.push(look);
      };
      signal.addEventListener('abort', look, { once: true });
      look();
    });
  }

  private wake(): void {
    const waiting = this.changed;
    this.changed = [];
    for (const look of waiting) look();
  }

  protected override heard(): void {
    this.wake();
  }

  protected override hosted(): void {
    const withdrawn = this.log.polls.filter((poll) => poll.withdrawn);
    this.change(({ outbox }) => withdrawn.forEach(({ number }) => outbox.withdraw(BigInt(number))));
    this.repeatAnswers();
    this.wake();
  }

  protected override took(reading: Reading): void {
    super.took(reading);
    const inside = this.own?.epoch;
    const entry = reading.entries.find(({ epoch }) => epoch === inside);
    if (reading.published && entry) {
      this.news = {
        kind: 'published',
        epoch: entry.epoch,
        among: entry.accepted,
        signers: entry.signers,
        erased: reading.erased,
      };
    } else if (reading.again) this.news = { kind: 'again', epoch: null };
    this.showOwn();
    this.repeatAnswers();
  }

  private showOwn(): void {
    const outbox = this.store?.outbox;
    if (!outbox) return;
    const text = outbox.message();
    const epoch = outbox.undecided();
    this.agreed = outbox.agreed() ?? null;
    const held = outbox.held();
    this.own =
      text === undefined
        ? null
        : {
            text,
            epoch: epoch === undefined ? null : Number(epoch),
            held: held === undefined ? null : Number(held),
          };
    this.ballots = JSON.parse(outbox.ballots()) as Ballot[];
  }
}
