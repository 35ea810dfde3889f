// The texts of rooms that survive their servers.

import { catalogue } from '../../messages/catalogue.svelte';
import { de } from '../../messages/de/mix';
import { en } from '../../messages/en/mix';

export const t = catalogue({ en, de });
