import { catalogue } from './catalogue.svelte';
import { de } from './de/start';
import { en } from './en/start';

export const t = catalogue({ en, de });
