// What the client says of itself, in the form in which the cryptography gives it.

/** Where an own message stands. */
export type MessageState =
  'waiting' | 'sent' | 'delivered' | 'sent-again' | 'round-stopped' | 'unknown';

export interface Message {
  /** Counted for each contact, on this device. */
  number: number;
  own: boolean;
  text: string;
  state: MessageState;
  /** The round in which that became so. */
  round: number | null;
}

/** How it stands with a contact. */
export type ContactState = 'idle' | 'calling' | 'called' | 'answering' | 'talking' | 'ending';

export interface Contact {
  number: number;
  name: string;
  state: ContactState;
  /** What both see alike if nobody is between them, while there is a conversation. */
  code: string | null;
  callable: boolean;
  /** Whether the user added it or has accepted a call of it. */
  added: boolean;
  /** The own link that it calls by, while it does. */
  link: number | null;
  unread: number;
  last: Message | null;
  /** Rounds since a call went out to it, of which there is no answer. */
  waited: number | null;
}

export interface OwnLink {
  number: number;
  label: string;
  link: string;
}

export interface View {
  /** The name that those see whom this device calls. */
  name: string;
  /** Bytes of the longest text. */
  limit: number;
  /** The last round that is over. */
  read: number | null;
  contacts: Contact[];
  links: OwnLink[];
}

export const readView = (view: string) => JSON.parse(view) as View;
export const readMessages = (messages: string) => JSON.parse(messages) as Message[];

/** Something that happened, as far as the page tells it. */
export type Event = { event: string; contact?: number; count?: number };

export const readEvents = (events: string) => JSON.parse(events) as Event[];

/** Whether a contact link is of a partner for practice, as whoever made it says. */
export const practises = (link: string) => /\/practice\s*$/.test(link);

/** Rounds of a cycle: four for conversations, one for calls. */
export const CYCLE = 5;
