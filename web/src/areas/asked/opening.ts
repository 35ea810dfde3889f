// What a link leads to: a question for numbers, or a graph.

import { t } from '../../i18n/ask';
import { jobOf } from '../../lib/page/cryptography';
import { LocalizedError } from '../../lib/servers/localized';
import { AskedAboutGraph, type GraphQuestion } from '../graph/asking';
import { Asked, type Question } from './asking';
import { find, firstShown } from './committee';

export type Opened =
  | { kind: 'numbers'; asked: Asked; question: Question }
  | { kind: 'graph'; asked: AskedAboutGraph; question: GraphQuestion };

/** Finds the committee of the member that serves this page, and what it was asked. */
export async function open(origin: string, id: string, digest?: string): Promise<Opened> {
  const found = await find(origin);
  const view = await firstShown(found.members, id, (view) => view);
  const job = jobOf(view);
  if (job === 'graph') {
    const asked = AskedAboutGraph.of(found, id, view, digest);
    return { kind: 'graph', asked, question: asked.question };
  }
  if (job !== 'stats') throw new LocalizedError(t.unknown);
  const asked = Asked.of(found, digest);
  return { kind: 'numbers', asked, question: await asked.read(id) };
}
