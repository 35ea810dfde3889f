// Texts as they are sent: one way of writing each, so that keyboards and systems differ less.

/** Composed characters, no blanks at either end, plain line breaks. */
export function normalised(text: string): string {
  return text.normalize('NFC').replaceAll('\r\n', '\n').trim();
}

/** Length in bytes of UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
