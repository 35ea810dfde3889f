// The question that a host is writing. It outlives the part of the page that shows it, so that a
// look at the messages does not lose it.

import { createContext } from 'svelte';

import type { PollForm } from '../../../lib/hosts/hostlog';
import { kindOf, optionsOf, type Kind } from '../../../lib/hosts/wall/polls';
import { fileOf, type Prepared } from '../../../lib/hosts/prepared';

export const KINDS = [
  'one',
  'several',
  'ranking',
  'rating',
  'text',
] as const satisfies readonly Kind[];

/** Whether two questions are written down alike. */
const isSame = (a: Prepared, b: Prepared) => fileOf([a]) === fileOf([b]);

/** The place of a question in a list that may have been read anew in the meantime, or -1. */
export const placeOf = (list: readonly Prepared[], one: Prepared): number =>
  list.findIndex((other) => isSame(other, one));

export class Draft {
  kind = $state<(typeof KINDS)[number]>('one');
  question = $state('');
  options = $state(['', '']);
  highest = $state(5);
  /** Seconds that people get to answer. */
  wanted = $state(30);
  /**
   * The prepared question that is being changed. It stays prepared until it is asked or kept anew.
   */
  changing = $state.raw<Prepared | null>(null);

  readonly given = $derived(this.options.map((option) => option.trim()).filter(Boolean));
  readonly form = $derived.by((): PollForm => {
    if (this.kind === 'text') return 'text';
    if (this.kind === 'rating') return { rating: { highest: this.highest } };
    return this.kind === 'ranking'
      ? { ranking: { options: this.given } }
      : { choice: { options: this.given, several: this.kind === 'several' } };
  });

  /** The question as it would be kept. */
  prepared(): Prepared {
    return { question: this.question.trim(), form: this.form, seconds: this.wanted };
  }

  /** Takes a prepared question into the fields. */
  change(prepared: Prepared): void {
    const { question, form, seconds } = prepared;
    const kind = kindOf(form);
    this.changing = prepared;
    this.kind = KINDS.find((name) => name === kind) ?? 'text';
    this.question = question;
    const listed = optionsOf(form);
    this.options = listed.length > 0 ? [...listed] : ['', ''];
    if (form !== 'text' && 'rating' in form) this.highest = form.rating.highest;
    this.wanted = seconds;
  }

  /** Whether this is the question that is being changed. */
  isOf(prepared: Prepared): boolean {
    return this.changing !== null && isSame(this.changing, prepared);
  }

  /**
   * Lets go of what was asked, and of the prepared question that it was made of. Whether the fields
   * are empty now: what came into them while it was being asked stays.
   */
  asked(one: Prepared, of: Prepared | null): boolean {
    if (of === null ? this.changing !== null : !this.isOf(of)) return false;
    this.changing = null;
    if (!isSame(this.prepared(), one)) return false;
    this.clear();
    return true;
  }

  /** The next question is of the same kind, as likely as not. */
  clear(): void {
    this.question = '';
    this.options = ['', ''];
    this.changing = null;
  }
}

/** What the fields of a question and the list of the prepared ones know of each other. */
export interface Asking {
  readonly draft: Draft;
  /**
   * Puts a question in the place of a prepared one, or takes that one off the list; whether that
   * could be done.
   */
  replace: (one: Prepared, by: Prepared | null) => boolean;
}

export const [askingOf, setAsking] = createContext<Asking>();
