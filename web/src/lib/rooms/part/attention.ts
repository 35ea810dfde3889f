// Whether somebody is at this page. A page that is left alone stops taking part after a while, so
// that pages that nobody looks at do not use up what the servers have prepared.
//
// The servers can see that it stopped. So it depends on nothing but time and signs of life: a page
// with something to say stops as soon as one without. Otherwise those that stay when a room falls
// silent would be those who speak.

import type { Clock } from '../../page/clock';

/**
 * Milliseconds after which a page stops that cannot be seen: another tab or another program covers
 * it. Browsers wake such a page once a second at first, which is enough to take part, and after
 * five minutes once a minute, which is not.
 */
export const UNSEEN = 5 * 60_000;
/** Milliseconds after which a page stops that nobody touches. */
export const UNTOUCHED = 30 * 60_000;

/** How the page notices that somebody is there. */
export interface Senses {
  /** Whether the page can be seen. */
  visible(): boolean;
  /** Calls back at every sign of life until `signal` aborts. */
  watch(sign: () => void, signal: AbortSignal): void;
}

/** The browser's. */
export const browserSenses: Senses = {
  visible: () => document.visibilityState === 'visible',
  watch: (sign, signal) => {
    for (const event of [
      'pointerdown',
      'pointermove',
      'keydown',
      'scroll',
      'visibilitychange',
      'pageshow',
    ]) {
      document.addEventListener(event, sign, { signal, passive: true, capture: true });
    }
  },
};

export class Attention {
  private touched: number;
  private seen: number;
  private waiting: (() => void)[] = [];

  constructor(
    private readonly senses: Senses,
    private readonly clock: Clock,
    signal: AbortSignal,
  ) {
    this.touched = this.seen = clock.now();
    senses.watch(() => this.sign(), signal);
  }

  private sign(): void {
    // What moves behind a covered page is nobody.
    this.seen = this.clock.now();
    if (!this.senses.visible()) return;
    this.touched = this.seen;
    const waiting = this.waiting;
    this.waiting = [];
    for (const wake of waiting) wake();
  }

  /** Milliseconds until the page stops if there is no sign of life. */
  private left(): number {
    const covered = this.senses.visible() ? Infinity : this.seen + UNSEEN;
    return Math.min(covered, this.touched + UNTOUCHED) - this.clock.now();
  }

  /**
   * Runs `part` while somebody is there, again and again until `signal` aborts; `rests` is called
   * when it has stopped.
   */
  async during(
    signal: AbortSignal,
    part: (signal: AbortSignal) => Promise<void>,
    rests: () => void,
  ): Promise<void> {
    while (!signal.aborted) {
      const over = new AbortController();
      const running = part(AbortSignal.any([signal, over.signal]));
      await this.untilAlone(signal);
      over.abort();
      await running;
      if (signal.aborted) return;
      rests();
      await this.untilSign(signal);
    }
  }

  private async untilAlone(signal: AbortSignal): Promise<void> {
    // A page may be covered at any moment: what is left is looked at from time to time.
    while (!signal.aborted && this.left() > 0)
      await this.clock.sleep(Math.min(this.left(), UNSEEN / 10), signal);
  }

  private untilSign(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      this.waiting.push(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}
