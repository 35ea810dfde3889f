// Which part of the page an address shows. Every part is loaded when it is first needed, so that
// whoever only takes part in a room loads nothing else.

import type { Component } from 'svelte';

/** The named parts of an address. */
export type Params = Readonly<Record<string, string>>;

export interface Route {
  /** Matched against the address from its `#` on; named groups become the page's `params`. */
  pattern: RegExp;
  load(): Promise<{ default: Component<{ params: Params }> | Component }>;
  /** The only kind of server that has it; every kind unless given. */
  at?: Kind;
  /** The masthead offers to leave. */
  leave?: true;
  /** Shown alone, without the masthead: for a projector. */
  bare?: true;
}

/** What a server is for. */
export type Kind = 'rooms' | 'committee' | 'mix';

/** The words of a mixing server's front, which name its room. */
const MIXING = /^\?mix=(?<digest>[0-9a-f]{64})$/;

/**
 * What the server of this page is for: servers of another kind than those of rooms and decisions
 * answer for `/` with a word for it. A page that was kept on the device may be without.
 */
export const serverKind = (search = globalThis.location?.search ?? ''): Kind =>
  search === '?committee' ? 'committee' : MIXING.test(search) ? 'mix' : 'rooms';

/** The room of a mixing server, as that server names it; empty at any other. */
export const ownMix = (): string => MIXING.exec(location.search)?.groups?.['digest'] ?? '';

const DECISION = '(?<decision>[0-9a-f]{32})/(?<servers>[0-9a-f]{64})';
const ROOM = '(?<room>[0-9a-f]{32})/(?<servers>[0-9a-f]{64})';
const GATHERING = '(?<gathering>[0-9a-f]{32})/(?<servers>[0-9a-f]{64})';
const COMPUTATION = '(?<computation>[0-9a-f]{64})/(?<committee>[0-9a-f]{64})';
const MIX = '(?<digest>[0-9a-f]{64})';
/** 32 bytes as base64url. */
const SEED = '(?<seed>[A-Za-z0-9_-]{43})';
/** 48 bytes as base64url: whom to call. */
const CALLEE = '(?<callee>[A-Za-z0-9_-]{64})';

/** The first one that matches counts; the last one matches everything. */
export const ROUTES: readonly [...Route[], Route] = [
  {
    pattern: /^(#\/?)?$/,
    load: start,
  },
  {
    pattern: new RegExp(`^#/room/${ROOM}(/${SEED})?$`),
    at: 'rooms',
    load: () => import('../../areas/room/Page.svelte'),
    leave: true,
  },
  {
    pattern: new RegExp(`^#/chat/${ROOM}(/${CALLEE}(/practice)?)?$`),
    at: 'rooms',
    load: () => import('../../areas/messages/Page.svelte'),
    leave: true,
  },
  { pattern: /^#\/create$/, at: 'rooms', load: () => import('../../areas/create/Page.svelte') },
  {
    pattern: new RegExp(`^#/host/${ROOM}(/${SEED})?$`),
    at: 'rooms',
    load: () => import('../../areas/host/Page.svelte'),
    leave: true,
  },
  {
    pattern: new RegExp(`^#/projector/${ROOM}$`),
    at: 'rooms',
    load: () => import('../../areas/projector/Page.svelte'),
    bare: true,
  },
  {
    pattern: /^#\/code\/(?<code>[0-9A-Za-z-]{1,20})$/,
    at: 'rooms',
    load: () => import('../../areas/code/Page.svelte'),
  },
  { pattern: /^#\/decide$/, at: 'rooms', load: () => import('../../areas/decide/Page.svelte') },
  {
    pattern: new RegExp(`^#/decision/${DECISION}(/${SEED})?$`),
    at: 'rooms',
    load: () => import('../../areas/decision/Page.svelte'),
  },
  {
    pattern: new RegExp(`^#/join/${GATHERING}/${SEED}$`),
    at: 'rooms',
    load: () => import('../../areas/join/Page.svelte'),
  },
  {
    pattern: /^#\/ask\/graph$/,
    at: 'committee',
    load: () => import('../../areas/graph/ask/Page.svelte'),
  },
  { pattern: /^#\/ask$/, at: 'committee', load: () => import('../../areas/ask/Page.svelte') },
  {
    pattern: new RegExp(`^#/ask/${COMPUTATION}(/${SEED})?$`),
    at: 'committee',
    load: () => import('../../areas/asked/Page.svelte'),
  },
  {
    pattern: new RegExp(`^#/mix/${MIX}(/${SEED})?$`),
    at: 'mix',
    load: () => import('../../areas/mix/Page.svelte'),
    leave: true,
  },
  { pattern: /^#\/operator$/, load: () => import('../../areas/operator/Page.svelte') },
  { pattern: /^(?<broken>.*)$/s, load: start },
];

/** Where one begins who has no link. */
function start(): ReturnType<Route['load']> {
  switch (serverKind()) {
    case 'committee':
      return import('../../areas/ask/Page.svelte');
    case 'mix':
      return import('../../areas/mix/Start.svelte');
    case 'rooms':
      return import('../../areas/start/Page.svelte');
  }
}

/** What an address shows. */
export interface Place {
  route: Route;
  params: Params;
}

/**
 * What an address shows at a server of a kind. A page of rooms may have been kept from a server of
 * another kind, so it has everything.
 */
export function placeOf(hash: string, kind: Kind = serverKind()): Place {
  for (const route of ROUTES) {
    const isThere = kind === 'rooms' || (route.at ?? kind) === kind;
    const found = isThere ? route.pattern.exec(hash) : null;
    if (found) return { route, params: named(found.groups) };
  }
  throw new Error('the last route matches every address');
}

/** Groups that took no part in the match are left out. */
function named(groups: Record<string, string | undefined> = {}): Params {
  return Object.fromEntries(
    Object.entries(groups).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}
