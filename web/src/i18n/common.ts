import { catalogue } from './catalogue.svelte';
import { de } from './de/common';
import { en } from './en/common';

export const t = catalogue({ en, de });
