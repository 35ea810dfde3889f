// Numbers and times as the reader writes them.

import { reader } from '../../i18n/catalogue.svelte';

const locale = () => (reader.language === 'en' ? 'en-GB' : reader.language);

export const day = (seconds: number): string =>
  new Date(seconds * 1000).toLocaleDateString(locale(), { dateStyle: 'medium' });

export const moment = (seconds: number): string =>
  new Date(seconds * 1000).toLocaleString(locale(), { dateStyle: 'medium', timeStyle: 'short' });

export const hour = (seconds: number): string =>
  new Date(seconds * 1000).toLocaleTimeString(locale(), { timeStyle: 'short' });

export const decimal = (value: number): string =>
  value.toLocaleString(locale(), { minimumFractionDigits: 1, maximumFractionDigits: 1 });

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(count: number): string {
  const power = count < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(count) / 10));
  const value = count / 1024 ** power;
  return `${value.toLocaleString(locale(), { maximumFractionDigits: value < 10 ? 1 : 0 })} ${UNITS[power] ?? ''}`;
}

/** The time of day, to the second; `at` in milliseconds since 1970. */
export const clock = (at: number): string => new Date(at).toLocaleTimeString(locale());
