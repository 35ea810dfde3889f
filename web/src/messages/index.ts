import { en, type Messages } from './en';

/** The sentences in the reader's language. */
export const t: Messages = en;
