// What somebody chooses to have computed on connections: in a first question, and in a further one.

import type { Program, Wanted } from './asking';
import { namesIn } from './asking';

/** With fewer vertices besides the sources, counts of distances tell the distance of each. */
const FEWEST_COUNTED = 10;
/** By how much an edge further counts less in Katz centrality. */
const ATTENUATION = 10;
/** How much of a rank follows connections, in thousandths. */
const DAMPING = 850;
/** Degrees that are counted apart where there is noise. */
const BINS = 16;

export const KINDS = [
  'distances',
  'reach',
  'shortest',
  'components',
  'edges',
  'in-degrees',
  'out-degrees',
  'katz',
  'pagerank',
] as const;
export type Kind = (typeof KINDS)[number];
const SHOWN = ['counts', 'vertices', 'at-least', 'top'] as const;
export type Shown = (typeof SHOWN)[number];
export const READERS = ['me', 'all'] as const;
export type Reader = (typeof READERS)[number];

/** Which vertices there are. */
export interface Vertices {
  count: number;
  has: (name: string) => boolean;
}

/** What contributed lists are like, so that no other lists are needed. */
export interface Lists {
  undirected: boolean;
  /** How long the longest connection is; `null` where connections have no length. */
  longest: number | null;
}

/** What can be computed on lists like these. Groups lead in both directions. */
export function kindsFor({ undirected, longest }: Lists): Kind[] {
  if (longest !== null) return ['shortest'];
  return KINDS.filter((kind) => kind !== 'shortest' && (undirected || kind !== 'components'));
}

export class Choice {
  kind = $state<Kind>('distances');
  from = $state('');
  hops = $state(6);
  longest = $state(4);
  shown = $state<Shown>('counts');
  threshold = $state(5);
  first = $state(10);
  noisy = $state(false);
  epsilon = $state(1);
  reader = $state<Reader>('me');

  private get degrees(): boolean {
    return this.kind === 'in-degrees' || this.kind === 'out-degrees';
  }

  /** Whether it starts from some vertices. */
  get begins(): boolean {
    return this.kind === 'distances' || this.kind === 'reach' || this.kind === 'shortest';
  }

  /** What can be shown of it: not everything of everything. */
  get shows(): Shown[] {
    return SHOWN.filter((way) => {
      if (this.kind === 'edges') return way === 'counts';
      if (this.kind === 'components') return way === 'vertices';
      if (this.kind === 'pagerank') return way === 'vertices' || way === 'top';
      return this.degrees || (way !== 'at-least' && way !== 'top');
    });
  }

  /** Whether noise can hide a connection in it. */
  get hideable(): boolean {
    return this.kind === 'edges' || (this.degrees && this.shown === 'counts');
  }

  /** What is wrong with it, if something is, of a graph with these vertices. */
  wrong({ count, has }: Vertices): 'from' | 'few' | null {
    if (!this.begins) return null;
    const sources = namesIn(this.from);
    if (sources.length === 0 || !sources.every(has)) return 'from';
    const few = count - new Set(sources).size < FEWEST_COUNTED;
    return this.shown === 'counts' && few ? 'few' : null;
  }

  wanted(): Wanted {
    const bins = this.kind === 'edges' ? 0 : BINS;
    const noisy = this.hideable && this.noisy;
    return {
      program: this.program(),
      shown: this.showing(),
      noise: noisy ? { epsilon: Math.round(this.epsilon * 1000), bins } : null,
      for_me: this.reader === 'me',
    };
  }

  private program(): Program {
    const { kind, hops } = this;
    const from = namesIn(this.from);
    if (kind === 'distances') return { distances: { from, hops } };
    if (kind === 'reach') return { reach: { from, hops } };
    if (kind === 'shortest') return { shortest: { from, within: hops, longest: this.longest } };
    if (kind === 'components') return { components: { hops } };
    if (kind === 'pagerank') return { pagerank: { damping: DAMPING, hops } };
    return kind === 'katz' ? { katz: { base: ATTENUATION, hops } } : kind;
  }

  private showing(): Wanted['shown'] {
    if (this.shown === 'at-least') return { 'at-least': this.threshold };
    return this.shown === 'top' ? { top: this.first } : this.shown;
  }
}
