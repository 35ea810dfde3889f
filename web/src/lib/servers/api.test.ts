import { afterEach, expect, test, vi } from 'vitest';

import { HttpServer, Problem } from './api';
import { reasonOf } from './reason';
import { LocalizedError } from './localized';

afterEach(() => vi.unstubAllGlobals());

/** A server whose answers are these pieces, one after the other, for ever if `endless`. */
function answers(status: number, pieces: Uint8Array[], endless = false): { read: () => number } {
  let read = 0;
  const body = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces[endless ? read % pieces.length : read];
        if (!piece) return controller.close();
        read++;
        controller.enqueue(piece);
      },
    });
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(body(), { status })));
  return { read: () => read };
}

test('an answer that does not end is given up', async () => {
  const piece = new TextEncoder().encode(' '.repeat(1 << 20));
  const { read } = answers(200, [piece], true);
  const failure = await new HttpServer('https://a.example')
    .code('00')
    .catch((error: unknown) => error);
  expect(String(failure)).toContain('bytes');
  // No more than the bound, and what the stream had ready.
  expect(read()).toBeLessThan(40);
  expect(reasonOf(failure).detail).toContain('malformed');
});

test('who the servers are and what a room is fits into a mebibyte, or is no answer', async () => {
  const server = new HttpServer('https://a.example');
  const { signal } = new AbortController();
  const ask = (path: string, bytes: number) => {
    answers(200, [new Uint8Array(bytes).fill(32)]);
    return server.carry({ path, body: null, bytes: false, patience: 5_000 }, signal);
  };
  for (const path of ['servers', 'rooms/00']) {
    expect((await ask(path, 1 << 20)).status).toBe(200);
    expect((await ask(path, (1 << 20) + 1)).status).toBe(0);
  }
  expect((await ask('rooms/00/board?from=0', 2 << 20)).status).toBe(200);
});

test('letters that are cut between two pieces come out whole', async () => {
  const text = new TextEncoder().encode(JSON.stringify({ room: 'Ägora', servers: '00' }));
  answers(200, [text.slice(0, 10), text.slice(10)]);
  expect([...text.slice(9, 11)]).toEqual([0xc3, 0x84]);
  expect(await new HttpServer('https://a.example').code('00')).toEqual({
    room: 'Ägora',
    servers: '00',
  });
});

test('a refusal keeps its status and what was said; silence is said in the reader’s language', async () => {
  answers(403, [new TextEncoder().encode('{"detail":"not you"}')]);
  const refused = await new HttpServer('https://a.example')
    .code('00')
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Problem);
  expect(refused).toMatchObject({ status: 403, message: 'not you' });
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('NetworkError')));
  expect(
    await new HttpServer('https://a.example').code('00').catch((error: unknown) => error),
  ).toBeInstanceOf(LocalizedError);
});

test('a participant’s request has the time that it is given, and silence is an answer', async () => {
  const limits = vi.spyOn(AbortSignal, 'timeout');
  const server = new HttpServer('https://a.example');
  const { signal } = new AbortController();
  const request = { path: 'rooms/00/presence', body: '{}', bytes: false, patience: 5_000 };
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('NetworkError')));
  expect(await server.carry(request, signal)).toEqual({ status: 0, body: '' });
  expect(limits.mock.calls[0]?.[0]).toBe(5_000);
  limits.mockRestore();
  answers(409, [new TextEncoder().encode('over')]);
  expect(await server.carry({ ...request, body: null }, signal)).toEqual({
    status: 409,
    body: 'over',
  });
});

test('what is posted is JSON, or the bytes that the WASM module means', async () => {
  const sent: RequestInit[] = [];
  vi.stubGlobal('fetch', (_: string, options: RequestInit) => {
    sent.push(options);
    return Promise.resolve(new Response('{}', { status: 201 }));
  });
  const server = new HttpServer('https://a.example');
  const { signal } = new AbortController();
  const request = { path: 'shares', body: '__8A', patience: 5_000 };
  await server.carry({ ...request, bytes: true }, signal);
  await server.carry({ ...request, bytes: false }, signal);
  const [bytes, json] = sent;
  expect(bytes?.headers).toEqual({ 'content-type': 'application/octet-stream' });
  const body = new Uint8Array(await (bytes?.body as Blob).arrayBuffer());
  expect([...body]).toEqual([255, 255, 0]);
  expect([json?.headers, json?.body]).toEqual([{ 'content-type': 'application/json' }, '__8A']);
});
