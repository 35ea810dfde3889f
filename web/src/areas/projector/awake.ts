// Keeps the screen on: nobody touches a projector during a lecture.

/**
 * Asks for the screen to stay on until `signal` aborts, again whenever the page comes back into
 * view.
 */
export async function stayAwake(signal: AbortSignal): Promise<void> {
  const ask = async () => {
    if (document.visibilityState !== 'visible' || signal.aborted) return;
    try {
      const lock = await navigator.wakeLock.request('screen');
      if (signal.aborted) await lock.release();
      else signal.addEventListener('abort', () => void lock.release(), { once: true });
    } catch {
      // A browser without it, or with an empty battery: then the computer's own setting decides.
    }
  };
  document.addEventListener('visibilitychange', () => void ask(), { signal });
  await ask();
}
