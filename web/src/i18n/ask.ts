import { catalogue } from './catalogue.svelte';
import { de } from './de/ask';
import { en } from './en/ask';

export const t = catalogue({ en, de });
