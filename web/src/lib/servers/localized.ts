/** An error whose message is a sentence of the catalogue, in the reader's language. */
export class LocalizedError extends Error {}
