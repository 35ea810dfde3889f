import { catalogue } from './catalogue.svelte';
import { de } from './de/mix';
import { en } from './en/mix';

export const t = catalogue({ en, de });
