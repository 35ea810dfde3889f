import { catalogue } from './catalogue.svelte';
import { de } from './de/reason';
import { en } from './en/reason';

export const t = catalogue({ en, de });
