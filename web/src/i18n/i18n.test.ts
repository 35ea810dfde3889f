// The types see to it that no language lacks a sentence; here it is seen that each has its own.

import { expect, test } from 'vitest';

import { LANGUAGES, catalogue, reader } from './catalogue.svelte';

type Area = Record<string, Record<string, unknown>>;
/** Those of parts that keep their sentences themselves stand in `areas/PART/messages`. */
const areas = import.meta.glob<Area>(['./*/*.ts', '../areas/**/messages/*.ts'], { eager: true });
const named = (language: string) =>
  Object.entries(areas)
    .filter(([path]) => path.includes(`/${language}/`) || path.endsWith(`/${language}.ts`))
    .filter(([path]) => !path.endsWith('/words.ts'))
    .map(([path, area]) => [path.replace(`/${language}`, ''), area[language]] as const);

/** Every sentence with its place; those that are made of numbers are made of some. */
function sentences(value: unknown, place: string): [string, string][] {
  if (typeof value === 'string') return [[place, value]];
  if (typeof value === 'function')
    return [[`${place}()`, made(value as (...args: unknown[]) => unknown)]];
  return Object.entries(value as object).flatMap(([name, inner]) =>
    sentences(inner, `${place}.${name}`),
  );
}

function made(sentence: (...args: unknown[]) => unknown): string {
  for (const attempt of [
    [7, 7, 7, 7],
    ['x', 'y', 'z'],
    [[7], [7]],
  ]) {
    try {
      return String(sentence(...attempt));
    } catch {
      // It takes something else.
    }
  }
  return sentence.toString();
}

test.each(Object.keys(LANGUAGES))('%s has every area and every sentence', (language) => {
  const [original, translated] = [named('en'), named(language)];
  expect(translated.map(([file]) => file)).toEqual(original.map(([file]) => file));
  for (const [index, [file, area]] of translated.entries()) {
    const places = sentences(area, file).map(([place]) => place);
    expect(places).toEqual(sentences(original[index]?.[1], file).map(([place]) => place));
    for (const [place, sentence] of sentences(area, file))
      expect(sentence.trim(), place).not.toBe('');
  }
});

/** Longer sentences that are the same in two languages were forgotten. */
test('no sentence was left in English', () => {
  const english = new Set(
    named('en').flatMap(([file, area]) => sentences(area, file).map(([, sentence]) => sentence)),
  );
  for (const language of Object.keys(LANGUAGES).filter((name) => name !== 'en')) {
    const all = named(language).flatMap(([file, area]) => sentences(area, file));
    const left = all.filter(
      ([, sentence]) => sentence.split(' ').length > 2 && english.has(sentence),
    );
    expect(left).toEqual([]);
  }
});

test('a sentence follows the choice of a language', () => {
  const t = catalogue({ en: { yes: 'yes' }, de: { yes: 'ja' } });
  reader.language = 'de';
  expect(t.yes).toBe('ja');
  reader.language = 'en';
  expect(t.yes).toBe('yes');
});
