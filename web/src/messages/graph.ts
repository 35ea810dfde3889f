import { catalogue } from './catalogue.svelte';
import { de } from './de/graph';
import { en } from './en/graph';

export const t = catalogue({ en, de });
