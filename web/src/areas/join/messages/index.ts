import { catalogue } from '../../../i18n/catalogue.svelte';
import { de } from './de';
import { en } from './en';

export const t = catalogue({ en, de });
