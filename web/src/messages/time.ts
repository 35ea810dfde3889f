// Times of day as the reader writes them.

import { reader } from './catalogue.svelte';

/** The time of day, to the second. */
export const clock = (at: number): string => new Date(at).toLocaleTimeString(reader.language === 'en' ? 'en-GB' : reader.language);
