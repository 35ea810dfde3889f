import { expect, test } from 'vitest';

import { guardLeaving } from './leaving';

/** A window as far as its address goes. */
function page() {
  const events = new EventTarget();
  const pushed: string[] = [];
  const history = {
    pushState: (_: unknown, __: string, url?: string | URL | null) => void pushed.push(String(url)),
  };
  const change = (oldURL: string, newURL: string) =>
    events.dispatchEvent(Object.assign(new Event('hashchange'), { oldURL, newURL }));
  return { events, history, pushed, change };
}

const HOST = 'https://a.example/#/host/room/servers';

test('while something would be lost, the address is put back, nobody shows the other place, and the question is asked', () => {
  const { events, history, pushed, change } = page();
  const asked: string[] = [];
  const shown: string[] = [];
  let holds = true;
  const end = guardLeaving(
    { events, history },
    () => holds,
    (hash) => asked.push(hash),
  );
  events.addEventListener('hashchange', () => shown.push('shown'));
  change(HOST, 'https://a.example/#/create');
  change(HOST, 'https://a.example/');
  expect([asked, pushed, shown]).toEqual([['#/create', '#/'], [HOST, HOST], []]);
  holds = false;
  change(HOST, 'https://a.example/#/');
  expect([asked.length, shown.length]).toEqual([2, 1]);
  holds = true;
  end();
  change(HOST, 'https://a.example/#/');
  expect([asked.length, shown.length]).toEqual([2, 2]);
});
