// Names of choices or groups, which stand numbered at the end of a question: reports and answers
// hold the numbers.

/** The question with its names. */
export function named(question: string, names: readonly string[]): string {
  if (names.length === 0) return question;
  return `${question} (${names.map((name, i) => `${i} = ${name}`).join(', ')})`;
}

/** A question without its names, and these; all of it if they are not numbered in order. */
export function apart(text: string): { question: string; names: string[] } {
  const all = { question: text, names: [] };
  const [, question, list] = /^(.*?) \((0 = .*)\)$/s.exec(text) ?? [];
  if (question === undefined || list === undefined) return all;
  const parts = list.split(/, (?=\d+ = )/);
  const inOrder = parts.every((part, i) => part.startsWith(`${i} = `));
  if (!inOrder || parts.length < 2) return all;
  return { question, names: parts.map((part) => part.slice(part.indexOf(' = ') + 3)) };
}

/** Names as somebody writes them, one on each line, each once. */
export function lines(text: string): string[] {
  const each = text.split('\n').map((line) => line.normalize('NFC').trim());
  return [...new Set(each.filter((line) => line !== ''))];
}
