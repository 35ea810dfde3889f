import { catalogue } from './catalogue.svelte';
import { de } from './de/poll';
import { en } from './en/poll';

export const t = catalogue({ en, de });
