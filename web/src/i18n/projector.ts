import { catalogue } from './catalogue.svelte';
import { de } from './de/projector';
import { en } from './en/projector';

export const t = catalogue({ en, de });
