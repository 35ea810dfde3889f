// The addresses of a room's pages, as they are shared.

import type { Pin } from '../servers/deployment';

const path = ({ room, servers }: Pin) => `${room}/${servers}`;

/** Where people take part; with the seed of an invitation, one person. */
export const roomLink = (origin: string, pin: Pin, seed?: string) =>
  `${origin}/#/room/${path(pin)}${seed ? `/${seed}` : ''}`;

/** Where messages are exchanged in a room that is for them, from any page of this server. */
export const chatPath = (pin: Pin) => `#/chat/${path(pin)}`;

/** Where a host acts. Whoever has it is host. */
export const hostLink = (origin: string, pin: Pin, seed: string) =>
  `${origin}/#/host/${path(pin)}/${seed}`;

/** The same, from any page of this server. */
export const roomPath = (pin: Pin) => `#/room/${path(pin)}`;

/**
 * Where a host acts whose key this browser keeps, from any page of it; with a `seed`, whoever has
 * that key.
 */
export const hostPath = (pin: Pin, seed?: string) => `#/host/${path(pin)}${seed ? `/${seed}` : ''}`;

export const projectorLink = (origin: string, pin: Pin) => `${origin}/#/projector/${path(pin)}`;

/** Where people decide; with the secret of an invitation, one person. */
export const decisionLink = (
  origin: string,
  decision: string,
  servers: string,
  invitation?: string | null,
) => `${origin}/#/decision/${decision}/${servers}${invitation ? `/${invitation}` : ''}`;

/** Where people ask to take part in a decision to come. */
export const joinLink = (origin: string, gathering: string, servers: string, secret: string) =>
  `${origin}/#/join/${gathering}/${servers}/${secret}`;

/** Where people answer a question of numbers; with the secret of an invitation, one person. */
export const askLink = (
  origin: string,
  computation: string,
  committee: string,
  invitation?: string,
) => `${origin}/#/ask/${computation}/${committee}${invitation ? `/${invitation}` : ''}`;

/** An address as it is read aloud: without the scheme. */
export const spokenOrigin = (origin: string) => origin.replace(/^https?:\/\//, '');
