import { catalogue } from './catalogue.svelte';
import { de } from './de/decide';
import { en } from './en/decide';

export const t = catalogue({ en, de });
