import { catalogue } from './catalogue.svelte';
import { de } from './de/wall';
import { en } from './en/wall';

export const t = catalogue({ en, de });
