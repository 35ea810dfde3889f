import { catalogue } from './catalogue.svelte';
import { de } from './de/operator';
import { en } from './en/operator';

export const t = catalogue({ en, de });
