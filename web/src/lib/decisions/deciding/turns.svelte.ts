// What a page is asked to do, one thing after the other.

/** What is done now, and what waits until that is over. */
export class Turns<Deed> {
  private wanted = $state.raw<readonly Deed[]>([]);
  private last: Promise<unknown> = Promise.resolve();

  /** What is done now. */
  get now(): Deed | null {
    return this.wanted[0] ?? null;
  }

  /** Whether this is done now, or waits for its turn. */
  has(deed: Deed): boolean {
    return this.wanted.includes(deed);
  }

  /**
   * Does something when its turn has come: who asks for it while something else is done has asked
   * all the same. Returns `false` at once if it is done or waits already.
   */
  async take(deed: Deed, act: () => Promise<unknown>): Promise<boolean> {
    if (this.has(deed)) return false;
    this.wanted = [...this.wanted, deed];
    const done = this.last.then(act).finally(() => {
      this.wanted = this.wanted.filter((one) => one !== deed);
    });
    this.last = done.catch(() => undefined);
    await done;
    return true;
  }
}
