// Styles name beginning and end, never left and right, so that a language written from right to
// left needs no others.

import { expect, test } from 'vitest';

const sources = import.meta.glob<string>(['../**/*.svelte', '../**/*.css'], {
  eager: true,
  query: '?raw',
  import: 'default',
});

const SIDE = '(?:left|right)';
const NAMES = [
  `(?:margin|padding|border)-${SIDE}[\\w-]*`,
  SIDE,
  `border-(?:top|bottom)-${SIDE}-radius`,
];
const PHYSICAL = new RegExp(
  `(?:^|[\\s;{])(?:${NAMES.join('|')})\\s*:|(?:float|clear|text-align)\\s*:\\s*${SIDE}`,
  'g',
);

test('styles are the same from left to right and from right to left', () => {
  expect(Object.keys(sources).length).toBeGreaterThan(10);
  const found = Object.entries(sources).flatMap(([file, source]) => {
    const style = file.endsWith('.css')
      ? source
      : (/<style>([\s\S]*)<\/style>/.exec(source)?.[1] ?? '');
    return [...style.matchAll(PHYSICAL)].map(([text]) => `${file}: ${text.trim()}`);
  });
  expect(found).toEqual([]);
});

test('nothing is styled inside of the markup, which the servers’ policy forbids', () => {
  const found = Object.entries(sources).filter(([, source]) =>
    /<[a-z][^>]*\sstyle="/.test(source.replace(/<style>[\s\S]*<\/style>/, '')),
  );
  expect(found.map(([file]) => file)).toEqual([]);
});
