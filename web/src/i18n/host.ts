import { catalogue } from './catalogue.svelte';
import { de } from './de/host';
import { en } from './en/host';

export const t = catalogue({ en, de });
