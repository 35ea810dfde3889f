// The account of this browser: its key, what it remembers of decisions, and which ones it knows.
// Whatever is computed with the memory leaves the device only after the memory has been written
// down.

import { t as common } from '../../i18n/common';
import { t } from '../../i18n/decision';
import { fromBase64, toBase64 } from '../servers/api';
import { DecisionMemory, DeviceKey } from '../page/cryptography';
import { StorageFull } from '../rooms/part/outbox';
import { LocalizedError } from '../servers/localized';
import { count, list, optional, record, text, type Of, type Shape } from '../servers/shape';

/** The part of `localStorage` that is used. */
export type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Lets one of all open tabs at a time do something. */
export type Alone = <T>(act: () => T) => Promise<T>;

const KEY = 'ostrakon/account';
const MEMORY = 'ostrakon/account/memory';
const KNOWN = 'ostrakon/account/decisions';
const PEOPLE = 'ostrakon/account/people';
const LINKS = 'ostrakon/account/links';
/** Join links that are remembered. */
const MOST_LINKS = 50;
const FORMAT = 'ostrakon account 1';

const alone: Alone = async (act) =>
  await navigator.locks.request('ostrakon/account', async () => act());

const letterShape = record({ address: text, sent: count });
const knownShape = record({
  id: text,
  servers: text,
  question: text,
  /** The secrets of the invitations by person, where this browser made the decision. */
  invitations: optional(list(optional(text))),
  /**
   * Where each person's link is to be sent, and how often it was, where this browser made the
   * decision.
   */
  letters: optional(list(optional(letterShape))),
});
const acquaintanceShape = record({ name: text, account: text });
const joiningShape = record({
  id: text,
  servers: text,
  /** The name that was asked with, where this browser has asked. */
  name: optional(text),
  /** What the decision is to be, as JSON, where this browser made the link. */
  plan: optional(text),
  /** Where the creator sees who asks, where this browser made the link. */
  address: optional(text),
  /** What this browser has said of the requests, where it made the link. */
  number: count,
  admitted: list(acquaintanceShape),
  refused: list(text),
});
const fileShape = record({
  format: text,
  seed: text,
  memory: text,
  decisions: list(knownShape),
  people: list(acquaintanceShape),
  links: optional(list(joiningShape)),
});

/** A decision that this browser has made or seen. */
export type Known = Of<typeof knownShape>;
/** A join link that this browser has made or asked by. */
export type Joining = Of<typeof joiningShape>;
/** An e-mail with a link: its address, and how often it was sent. */
export type Letter = Of<typeof letterShape>;
/** Somebody who took part in a decision that this browser has seen. */
export type Acquaintance = Of<typeof acquaintanceShape>;

export class Account {
  private constructor(
    readonly key: DeviceKey,
    private readonly storage: Storage,
    private readonly alone: Alone,
  ) {}

  /** The account that is kept here, or a new one. */
  static open(storage: Storage, only: Alone = alone): Promise<Account> {
    // What is lost here cannot be had again: the browser is asked not to clear it by itself.
    void globalThis.navigator?.storage?.persist?.().catch(() => false);
    return only(() => {
      const kept = storage.getItem(KEY);
      const key = kept === null ? DeviceKey.generate() : keyOf(kept);
      if (kept === null) put(storage, KEY, toBase64(key.seed()));
      return new Account(key, storage, only);
    });
  }

  /**
   * Does something with the memory, which is written down before anything of it is returned. Throws
   * {@link StorageFull} if it cannot be written down.
   */
  withMemory<T>(act: (memory: DecisionMemory) => T): Promise<T> {
    return this.alone(() => {
      const kept = this.storage.getItem(MEMORY);
      const memory = kept === null ? new DecisionMemory() : DecisionMemory.restore(kept);
      try {
        const done = act(memory);
        put(this.storage, MEMORY, memory.save());
        return done;
      } finally {
        memory.free();
      }
    });
  }

  /**
   * Whether answers may have left this browser. A memory that cannot be read does not rule it out.
   */
  mayHaveAnswered(decision: string): boolean {
    const kept = this.storage.getItem(MEMORY);
    if (kept === null) return false;
    try {
      const memory = DecisionMemory.restore(kept);
      const answered = memory.hasAnswered(decision);
      memory.free();
      return answered;
    } catch {
      return true;
    }
  }

  /** The decisions that were made or seen here, the newest first. */
  known(): Known[] {
    return listed(this.storage.getItem(KNOWN), list(knownShape));
  }

  /** Takes note of a decision; its invitations and letters stay if they were there. */
  know(decision: Known): Promise<void> {
    return this.alone(() => {
      const all = this.known();
      const before = all.find(({ id }) => id === decision.id);
      const invitations = decision.invitations ?? before?.invitations ?? null;
      const whole = {
        ...decision,
        invitations,
        letters: decision.letters ?? before?.letters ?? null,
      };
      const others = all.filter(({ id }) => id !== decision.id);
      put(this.storage, KNOWN, JSON.stringify([whole, ...others]));
    });
  }

  /** Takes note of where a person's link is sent to, and how often it was. */
  write(id: string, person: number, letter: Letter): Promise<void> {
    return this.alone(() => {
      const all = this.known().map((known) => {
        if (known.id !== id) return known;
        const letters = Array.from(
          { length: Math.max(person + 1, known.letters?.length ?? 0) },
          (_, place) => known.letters?.[place] ?? null,
        );
        letters[person] = letter;
        return { ...known, letters };
      });
      put(this.storage, KNOWN, JSON.stringify(all));
    });
  }

  /** Takes a decision off the list; what was answered in it stays fixed. */
  drop(id: string): Promise<void> {
    return this.alone(() =>
      put(this.storage, KNOWN, JSON.stringify(this.known().filter((known) => known.id !== id))),
    );
  }

  /** People of earlier decisions, by name; each account once. */
  people(): Acquaintance[] {
    return single(listed(this.storage.getItem(PEOPLE), list(acquaintanceShape)));
  }

  /**
   * Takes note of people's accounts. The names are those that some creator has given them: what is
   * known of an account stays, and a name that is known of another account stays with that one,
   * too, so that nobody gets another one's seat by bearing that name.
   */
  meet(met: Acquaintance[]): Promise<void> {
    return this.alone(() => {
      const own = this.key.publicKey();
      const all = single([...this.people(), ...met.filter(({ account }) => account !== own)]);
      all.sort((a, b) => a.name.localeCompare(b.name));
      put(this.storage, PEOPLE, JSON.stringify(all));
    });
  }

  /** Takes somebody off the people of earlier decisions, until one of those is seen again. */
  forget(person: string): Promise<void> {
    return this.alone(() =>
      put(
        this.storage,
        PEOPLE,
        JSON.stringify(this.people().filter(({ account }) => account !== person)),
      ),
    );
  }

  /** The join links that were made here, or by which this browser has asked, the newest first. */
  links(): Joining[] {
    return listed(this.storage.getItem(LINKS), list(joiningShape));
  }

  /** Takes note of a join link, in place of what was noted of it. */
  keepLink(link: Joining): Promise<void> {
    return this.alone(() => {
      const others = this.links().filter(({ id }) => id !== link.id);
      put(this.storage, LINKS, JSON.stringify([link, ...others].slice(0, MOST_LINKS)));
    });
  }

  /** Everything as a text, to be moved to another browser. */
  export(): string {
    const memory = this.storage.getItem(MEMORY) ?? new DecisionMemory().save();
    const file = {
      format: FORMAT,
      seed: toBase64(this.key.seed()),
      memory,
      decisions: this.known(),
      people: this.people(),
      links: this.links(),
    };
    return `${JSON.stringify(file, null, 2)}\n`;
  }

  /**
   * Takes the place of what is kept here. Throws if the text is no account, or {@link StorageFull};
   * then everything stays as it was.
   */
  static import(text: string, storage: Storage, only: Alone = alone): Promise<Account> {
    return only(() => {
      const file = readFile(text);
      const key = keyOf(file.seed);
      putAll(storage, [
        [MEMORY, merged(storage.getItem(MEMORY), file.memory)],
        [KNOWN, JSON.stringify(file.decisions)],
        [PEOPLE, JSON.stringify(file.people)],
        [LINKS, JSON.stringify(file.links ?? [])],
        [KEY, toBase64(key.seed())],
      ]);
      return new Account(key, storage, only);
    });
  }
}

/**
 * What both memories know. An older copy does not take back that this browser has answered. A
 * memory here that cannot be read is none.
 */
function merged(kept: string | null, brought: string): string {
  const memory = DecisionMemory.restore(brought);
  try {
    try {
      if (kept !== null) memory.merge(kept);
    } catch {
      // What is brought is all that can be read.
    }
    return memory.save();
  } finally {
    memory.free();
  }
}

/** Writes something down. Browsers have several errors for a storage that takes no more. */
function put(storage: Storage, name: string, value: string): void {
  try {
    storage.setItem(name, value);
  } catch {
    throw new StorageFull(common.refusal.full);
  }
}

/**
 * Writes everything down, or nothing: a key that had another one's memory would answer again where
 * it has answered.
 */
function putAll(storage: Storage, items: [name: string, value: string][]): void {
  const before: [name: string, value: string | null][] = [];
  try {
    for (const [name, value] of items) {
      const kept = storage.getItem(name);
      put(storage, name, value);
      before.push([name, kept]);
    }
  } catch (error) {
    // What was there before fits again once all that is new is gone.
    for (const [name] of before) storage.removeItem(name);
    for (const [name, value] of before) if (value !== null) storage.setItem(name, value);
    throw error;
  }
}

/** Each account once, with the name that comes first. */
function single(people: Acquaintance[]): Acquaintance[] {
  const seen = new Set<string>();
  return people.filter(({ account }) => !seen.has(account) && seen.add(account));
}

function keyOf(kept: string): DeviceKey {
  try {
    return DeviceKey.fromSeed(fromBase64(kept));
  } catch {
    throw new LocalizedError(t.account.spoilt);
  }
}

function readFile(content: string): Of<typeof fileShape> {
  try {
    const file = fileShape(JSON.parse(content));
    if (file.format === FORMAT) return file;
  } catch {
    // It is refused below.
  }
  throw new LocalizedError(t.account.noFile);
}

/** A list that cannot be read is empty: it is only a convenience. */
function listed<T>(kept: string | null, shape: Shape<T[]>): T[] {
  try {
    return kept === null ? [] : shape(JSON.parse(kept));
  } catch {
    return [];
  }
}
