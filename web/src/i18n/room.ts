import { catalogue } from './catalogue.svelte';
import { de } from './de/room';
import { en } from './en/room';

export const t = catalogue({ en, de });
