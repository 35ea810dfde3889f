// The present, for countdowns.

/** An object whose `now` advances every `ms` milliseconds while its component lives. */
export function ticker(ms: number): { readonly now: number } {
  let now = $state(Date.now());
  $effect(() => {
    const timer = setInterval(() => (now = Date.now()), ms);
    return () => clearInterval(timer);
  });
  return {
    get now() {
      return now;
    },
  };
}
