import { catalogue } from './catalogue.svelte';
import { de } from './de/decision';
import { en } from './en/decision';

export const t = catalogue({ en, de });
