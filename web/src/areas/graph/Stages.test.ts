// How far servers are, at every stage that they tell.

import { render } from 'svelte/server';
import { expect, test } from 'vitest';

import Stages from './Stages.svelte';

interface LocalizedError {
  stage: string;
  done?: number;
  of?: number;
  sent?: number;
}

function shown(is: string, told?: LocalizedError): string {
  const progress = told ? { done: 0, of: 0, sent: 0, ...told } : null;
  const props = { view: { inputs: 2, phase: { is }, progress } } as never;
  return render(Stages, { props }).body.replaceAll(/<!--.*?-->/g, '');
}

/** The stages' names with what is said of them: done, at hand, or nothing. */
function stages(body: string): string[] {
  return [...body.matchAll(/<li([^>]*)>(.*?)<\/li>/gs)].map(([, attributes = '', inside = '']) => {
    const text = inside.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
    return `${attributes.includes('aria-current="step"') ? 'now: ' : ''}${text.trim()}`;
  });
}

test('before anything is computed the servers agree on the list', () => {
  const body = shown('sealing');
  expect(stages(body)[0]).toBe('now: Agreeing on which contributions count');
  expect(stages(body).filter((stage) => stage.endsWith('done'))).toEqual([]);
  expect(body).not.toContain('MB');
});

test('each stage has its place, and those before it are done', () => {
  const told = ['preparing', 'checking', 'hop', 'verifying', 'opening'];
  for (const [place, stage] of told.entries()) {
    const all = stages(shown('computing', { stage }));
    expect(all).toHaveLength(6);
    expect(all.findIndex((one) => one.startsWith('now: '))).toBe(place + 1);
    expect(all.filter((one) => one.endsWith('done'))).toHaveLength(place + 1);
  }
});

test('parts are counted, and what was sent is told', () => {
  const body = shown('computing', { stage: 'hop', done: 2, of: 6, sent: 12_345_678 });
  expect(stages(body)).toContain('now: Following the connections 3 of 6');
  expect(body).toMatch(/<progress[^>]* max="6"[^>]* value="2"/);
  expect(body).toContain('12.3 MB sent by each server so far');
  // A stage without parts moves without saying how far.
  expect(shown('computing', { stage: 'checking' })).not.toMatch(/<progress[^>]* value=/);
});

test('while the result is being read nothing begins anew', () => {
  const all = stages(shown('done'));
  expect(all.at(-1)).toContain('now: Opening what was asked for');
  expect(all.filter((one) => one.endsWith('done'))).toHaveLength(5);
  expect(stages(shown('too-few'))[0]).toContain('now: ');
});

test('what a newer server tells is taken for the first stage', () => {
  const [, preparing] = stages(shown('computing', { stage: 'dreaming' }));
  expect(preparing).toContain('now: ');
});
