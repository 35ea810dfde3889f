import { catalogue } from '../../../messages/catalogue.svelte';
import { de } from './de';
import { en } from './en';

export const t = catalogue({ en, de });
