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

export type PollForm = { choice: { options: string[]; several: boolean } } | { rating: { highest: number } } | 'text';

/** A question to everybody. Its answers are messages of exactly one epoch. */
export interface Poll {
  /** The number of the action that asked it. */
  number: number;
  question: string;
  form: PollForm;
  epoch: number;
  withdrawn: boolean;
}

/** An answer, as the cryptography takes it. */
export type Answer = { choice: number[] } | { rating: number } | { text: string };

/** The answers to a poll, counted. */
export interface Tally {
  answers: number;
  /** By option, or by mark from 1 on; empty for texts. */
  votes: number[];
  texts: string[];
  invalid: number;
}

/** The answer of this device to a poll. */
export interface Ballot {
  poll: number;
  epoch: number;
  state: 'waiting' | 'sent' | 'counted' | 'missed';
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

/** The log as a whole. */
export interface LogView {
  length: number;
  head: string;
  closed: boolean;
  /** The servers have erased all texts. */
  erased: boolean;
  moderated: boolean;
  /** The first host has no name. */
  hosts: { key: string; name: string; active: boolean }[];
  /** Keys that may take part. */
  members: string[];
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
  hosts: [],
  members: [],
  invitations: [],
  marks: [],
  polls: [],
};

/** A message of which nothing was noted. */
export function unmarked(epoch: number, index: number): Marks {
  return { epoch, index, hidden: false, approved: false, pinned: false, answered: false, erased: false, group: null };
}

/** Marks by message. */
export function marksOf(log: LogView): (epoch: number, index: number) => Marks | undefined {
  const found = new Map(log.marks.map((marks) => [`${marks.epoch}/${marks.index}`, marks]));
  const plain = (epoch: number, index: number) => found.get(`${epoch}/${index}`);
  if (!log.erased) return plain;
  return (epoch, index) => ({ ...(plain(epoch, index) ?? unmarked(epoch, index)), erased: true });
}
