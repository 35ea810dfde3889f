// Texts as they are sent: one way of writing each, so that keyboards and systems differ less.

/** Composed characters, no blanks at either end, plain line breaks. */
export function normalised(text: string): string {
  return text.normalize('NFC').replaceAll('\r\n', '\n').trim();
}

/** Length in bytes of UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** About how many more letters fit into `bytes`, for somebody who goes on writing as in `text`. */
export function lettersLeft(text: string, bytes: number): number {
  const letters = [...text].length;
  const each = letters < 10 ? 1.1 : bytesOf(text) / letters;
  const fit = Math.floor(bytes / each);
  return fit < 50 ? fit : Math.floor(fit / 10) * 10;
}
