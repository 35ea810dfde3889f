// Which part of the page an address shows. Every part is loaded when it is first needed, so that
// whoever only takes part in a room loads nothing else.

import type { Component } from 'svelte';

/** The named parts of an address. */
export type Params = Readonly<Record<string, string>>;

export interface Route {
  /** Matched against the address from its `#` on; named groups become the page's `params`. */
  pattern: RegExp;
  load(): Promise<{ default: Component<{ params: Params }> | Component }>;
  /** The masthead offers to leave. */
  leave?: true;
  /** Shown alone, without the masthead: for a projector. */
  bare?: true;
}

/**
 * Whether this page comes from a committee's member, and not from a server of rooms and decisions:
 * members answer for `/` with this word.
 */
export const isMember = (): boolean => location.search === '?committee';

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
    load: () =>
      isMember() ? import('../../areas/ask/Page.svelte') : import('../../areas/start/Page.svelte'),
  },
  {
    pattern: new RegExp(`^#/room/${ROOM}(/${SEED})?$`),
    load: () => import('../../areas/room/Page.svelte'),
    leave: true,
  },
  {
    pattern: new RegExp(`^#/chat/${ROOM}(/${CALLEE}(/practice)?)?$`),
    load: () => import('../../areas/messages/Page.svelte'),
    leave: true,
  },
  { pattern: /^#\/create$/, load: () => import('../../areas/create/Page.svelte') },
  {
    pattern: new RegExp(`^#/host/${ROOM}(/${SEED})?$`),
    load: () => import('../../areas/host/Page.svelte'),
    leave: true,
  },
  {
    pattern: new RegExp(`^#/projector/${ROOM}$`),
    load: () => import('../../areas/projector/Page.svelte'),
    bare: true,
  },
  {
    pattern: /^#\/code\/(?<code>[0-9A-Za-z-]{1,20})$/,
    load: () => import('../../areas/code/Page.svelte'),
  },
  { pattern: /^#\/decide$/, load: () => import('../../areas/decide/Page.svelte') },
  {
    pattern: new RegExp(`^#/decision/${DECISION}(/${SEED})?$`),
    load: () => import('../../areas/decision/Page.svelte'),
  },
  {
    pattern: new RegExp(`^#/join/${GATHERING}/${SEED}$`),
    load: () => import('../../areas/join/Page.svelte'),
  },
  { pattern: /^#\/ask\/graph$/, load: () => import('../../areas/graph/ask/Page.svelte') },
  { pattern: /^#\/ask$/, load: () => import('../../areas/ask/Page.svelte') },
  {
    pattern: new RegExp(`^#/ask/${COMPUTATION}(/${SEED})?$`),
    load: () => import('../../areas/asked/Page.svelte'),
  },
  {
    pattern: new RegExp(`^#/mix/${MIX}(/${SEED})?$`),
    load: () => import('../../areas/mix/Page.svelte'),
    leave: true,
  },
  { pattern: /^#\/operator$/, load: () => import('../../areas/operator/Page.svelte') },
  { pattern: /^(?<broken>.*)$/s, load: () => import('../../areas/start/Page.svelte') },
];

/** What an address shows. */
export interface Place {
  route: Route;
  params: Params;
}

export function placeOf(hash: string): Place {
  for (const route of ROUTES) {
    const found = route.pattern.exec(hash);
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
