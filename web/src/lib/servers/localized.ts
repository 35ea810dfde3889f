/** An error whose message is a sentence of the catalogue, in the reader's language. */
export class LocalizedError extends Error {
  /** `detail`: what was said, in English; empty if the sentence says it all. */
  constructor(
    sentence: string,
    readonly detail = '',
  ) {
    super(sentence);
  }
}
