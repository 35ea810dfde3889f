import { catalogue } from './catalogue.svelte';
import { de } from './de/create';
import { en } from './en/create';

export const t = catalogue({ en, de });
