// What the hosts of a room did, as the cryptography reads it from their signed actions.

/** What hosts noted about one message. */
export interface Marks {
  epoch: number;
  index: number;
  hidden: boolean;
  approved: boolean;
  pinned: boolean;
  answered: boolean;
  erased: boolean;
  group: string | null;
}

export type PollForm =
  | { choice: { options: string[]; several: boolean } }
  | { rating: { highest: number } }
  | 'text'
  | { messages: { targets: Target[] } }
  | { ranking: { options: string[] } };

/** A question to everybody. Its answers are messages of exactly one epoch. */
export interface Poll {
  /** The number of the action that asked it. */
  number: number;
  question: string;
  form: PollForm;
  epoch: number;
  withdrawn: boolean;
  /** Indices of the options that the host has said are right. */
  right: number[] | null;
}

/** An answer, as the cryptography takes it. */
export type Answer =
  { choice: number[] } | { rating: number } | { text: string } | { ranking: number[] };

/** The answers to a poll, counted. */
export interface Tally {
  answers: number;
  /** By option, by message, or by mark from 1 on; points of a ranking; empty for texts. */
  votes: number[];
  texts: string[];
  invalid: number;
  /** Bodies that the poll's epoch lacks: answers may be among them. */
  erased: number;
}

/** The answer of this device to a poll. */
export interface Ballot {
  poll: number;
  epoch: number;
  /** `doubted`: nothing came of its epoch, and it may have been read. */
  state: 'waiting' | 'sent' | 'counted' | 'missed' | 'doubted';
}

/** A link for one person. */
export interface Invitation {
  /** The link's key. */
  key: string;
  /** From 1, in the order in which hosts made them. */
  number: number;
  /** The key that took it, and takes part; `null` while nobody has. */
  claimed: string | null;
}

/** A message on the board. */
export interface Target {
  epoch: number;
  index: number;
}

/** A name for a message: `EPOCH/INDEX`. */
export const keyOf = ({ epoch, index }: Target) => `${epoch}/${index}`;

/** The log as a whole. */
export interface LogView {
  length: number;
  head: string;
  closed: boolean;
  /** The servers have erased all texts. */
  erased: boolean;
  moderated: boolean;
  /** The minimum that the next epoch is opened with; `null` while nothing is read. */
  minimum: number | null;
  /** The message that projectors show alone. */
  spotlight: Target | null;
  /** The first host has no name. */
  hosts: { key: string; name: string; active: boolean }[];
  /** Keys that may take part. */
  members: string[];
  /** Keys and invitations that hosts have dismissed. */
  former: ReadonlySet<string>;
  /** Invitations that stand, in the order in which they were made. */
  invitations: Invitation[];
  marks: Marks[];
  polls: Poll[];
}

export const EMPTY_LOG: LogView = {
  length: 0,
  head: '',
  closed: false,
  erased: false,
  moderated: false,
  minimum: null,
  spotlight: null,
  hosts: [],
  members: [],
  former: new Set(),
  invitations: [],
  marks: [],
  polls: [],
};

/**
 * What the cryptography says of a log that has grown: the lists name what is new or other than
 * before.
 */
interface Changes extends Pick<
  LogView,
  | 'length'
  | 'head'
  | 'closed'
  | 'erased'
  | 'moderated'
  | 'minimum'
  | 'spotlight'
  | 'hosts'
  | 'marks'
  | 'polls'
> {
  members: { key: string; active: boolean }[];
  invitations: (Invitation & { active: boolean })[];
}

/**
 * Keeps the view of one log up to date, so that a long one need not be read anew for each action.
 */
export class LogBook {
  private readonly members = new Set<string>();
  private readonly former = new Set<string>();
  private readonly invitations = new Map<string, Invitation>();
  private readonly marks = new Map<string, Marks>();
  private readonly polls = new Map<number, Poll>();
  private view = EMPTY_LOG;

  /** Takes in what has changed (JSON), and returns the log as it is now. */
  take(text: string): LogView {
    const { members, invitations, marks, polls, ...rest } = JSON.parse(text) as Changes;
    for (const { key, active } of members) this.settle(key, active);
    for (const { active, ...invitation } of invitations) {
      this.settle(invitation.key, active, invitation);
    }
    for (const mark of marks) this.marks.set(keyOf(mark), mark);
    for (const poll of polls) this.polls.set(poll.number, poll);
    const people = members.length + invitations.length > 0;
    this.view = {
      ...this.view,
      ...rest,
      ...(people && {
        members: [...this.members].sort(),
        former: new Set(this.former),
        invitations: [...this.invitations.values()].sort((a, b) => a.number - b.number),
      }),
      ...(marks.length > 0 && { marks: [...this.marks.values()] }),
      ...(polls.length > 0 && {
        polls: [...this.polls.values()].sort((a, b) => a.number - b.number),
      }),
    };
    return this.view;
  }

  /** A key is an invitation or a member, if it is anything. */
  private settle(key: string, active: boolean, invitation?: Invitation): void {
    this.members.delete(key);
    this.invitations.delete(key);
    this.former.delete(key);
    if (!active) this.former.add(key);
    else if (invitation) this.invitations.set(key, invitation);
    else this.members.add(key);
  }
}

/** A message of which nothing was noted. */
export function unmarked(epoch: number, index: number): Marks {
  return {
    epoch,
    index,
    hidden: false,
    approved: false,
    pinned: false,
    answered: false,
    erased: false,
    group: null,
  };
}

/** Marks by message. */
export function marksOf(log: LogView): (epoch: number, index: number) => Marks | undefined {
  const found = new Map(log.marks.map((marks) => [keyOf(marks), marks]));
  const plain = (epoch: number, index: number) => found.get(keyOf({ epoch, index }));
  if (!log.erased) return plain;
  return (epoch, index) => ({ ...(plain(epoch, index) ?? unmarked(epoch, index)), erased: true });
}
