// A page is left by the part of its address after the `#`: by a link, by Back, or by hand. Where
// something would be lost with it, its user is asked first.

interface Page {
  /** Where changes of the address are told, as a window tells them. */
  events: Pick<EventTarget, 'addEventListener' | 'removeEventListener'>;
  history: Pick<History, 'pushState'>;
}

/**
 * While `holds` says so, puts the address back after a change of it and asks whether to go to
 * `hash` all the same. Returns what ends that.
 */
export function guardLeaving(
  { events, history }: Page,
  holds: () => boolean,
  ask: (hash: string) => void,
): () => void {
  const stay = (event: Event) => {
    if (!holds()) return;
    const { oldURL, newURL } = event as HashChangeEvent;
    // Whoever would show the other place hears nothing of it.
    event.stopImmediatePropagation();
    // After Back, what was in front is there again; a new entry is what a browser has for both
    // ways.
    history.pushState(null, '', oldURL);
    ask(new URL(newURL).hash || '#/');
  };
  // Before those who listen without it.
  const early = { capture: true };
  events.addEventListener('hashchange', stay, early);
  return () => events.removeEventListener('hashchange', stay, early);
}
