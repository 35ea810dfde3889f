// Keeps the page on the device, so that it opens without a network. Nothing of the interface is
// kept here.
//
// A page is loaded from its server whenever that answers; the kept one stands in for it only when
// it does not, and says so. A newer page that has been fetched waits until the reader asks for it.
// So nobody runs old code unknowingly.

declare const self: ServiceWorkerGlobalScope;

/** Put in when the page is built: the names of its files, and a digest of their contents. */
const FILES = JSON.parse('__FILES__') as string[];
const VERSION = '__VERSION__';

const PREFIX = 'ostrakon/page/';
const CACHE = PREFIX + VERSION;
/** Milliseconds after which a server that says nothing counts as away. */
const PATIENCE = 5_000;

const scope = new URL('./', self.location.href);
const index = new URL('index.html', scope);
const ours = new Set(FILES.map((name) => new URL(name, scope).href));

self.addEventListener('install', (event) => {
  event.waitUntil(fill());
});

self.addEventListener('activate', (event) => {
  event.waitUntil(clear());
});

self.addEventListener('message', (event) => {
  if (event.data === 'take over') void self.skipWaiting();
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== scope.origin) return;
  if ([scope.pathname, index.pathname].includes(url.pathname)) event.respondWith(document(request));
  else if (ours.has(url.href)) event.respondWith(file(request));
});

async function fill(): Promise<void> {
  const cache = await caches.open(CACHE);
  await cache.addAll(
    FILES.map(
      (name) => new Request(new URL(name, scope), { cache: 'reload', credentials: 'omit' }),
    ),
  );
}

async function clear(): Promise<void> {
  const names = await caches.keys();
  await Promise.all(
    names
      .filter((name) => name.startsWith(PREFIX) && name !== CACHE)
      .map((name) => caches.delete(name)),
  );
}

/** The document from its server, or else the kept one, marked as such. */
async function document(request: Request): Promise<Response> {
  try {
    const answer = await fetch(request, { signal: AbortSignal.timeout(PATIENCE) });
    // Servers that are not for rooms lead on from `/`; the browser follows by itself.
    if (answer.ok || answer.type === 'opaqueredirect') return answer;
  } catch {
    // The server does not answer.
  }
  const kept = await caches.match(index, { cacheName: CACHE });
  if (!kept) return Response.error();
  const text = (await kept.text()).replace('<html ', '<html data-kept ');
  const headers = new Headers(kept.headers);
  headers.delete('content-length');
  return new Response(text, { headers });
}

/** Files are named by their contents, so the kept one is the right one. */
async function file(request: Request): Promise<Response> {
  return (await caches.match(request, { cacheName: CACHE })) ?? fetch(request);
}

export {};
