// The page as it is kept on the device (see `src/worker`): whether the kept one is shown, and
// whether there is a newer one.

/** Milliseconds between two questions whether the server has a newer page. */
const ASK = 15 * 60_000;

class Installed {
  /** The server did not answer, and the page is the one that was kept here. */
  readonly kept = globalThis.document?.documentElement.dataset['kept'] !== undefined;
  /** A newer page has been fetched and waits. */
  newer = $state(false);

  private registration: ServiceWorkerRegistration | null = null;

  async register(): Promise<void> {
    if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
    try {
      this.watch(await navigator.serviceWorker.register('./service-worker.js'));
    } catch {
      // Without it the page works as long as its server answers.
    }
  }

  /** Goes over to the newer page. */
  update(): void {
    navigator.serviceWorker.addEventListener('controllerchange', () => location.reload(), {
      once: true,
    });
    this.registration?.waiting?.postMessage('take over');
  }

  private watch(registration: ServiceWorkerRegistration): void {
    this.registration = registration;
    const look = () => {
      // The first one that a browser ever keeps replaces nothing.
      this.newer = registration.waiting !== null && registration.active !== null;
    };
    look();
    registration.addEventListener('updatefound', () =>
      registration.installing?.addEventListener('statechange', look),
    );
    setInterval(() => void registration.update().catch(() => undefined), ASK);
  }
}

export const installed = new Installed();
