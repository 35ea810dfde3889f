// A date for calendars (RFC 5545).

import type { Span } from '../decision';
import { bytesOf } from '../../page/text';

/** Bytes of a line, after which it is folded. */
const LINE = 75;

/** In UTC: 20261122T180000Z. */
const stamp = (at: number): string =>
  new Date(at)
    .toISOString()
    .replace(/\.\d{3}/, '')
    .replaceAll(/[-:]/g, '');

const escaped = (text: string): string =>
  text
    .replaceAll('\\', '\\\\')
    .replaceAll(';', '\\;')
    .replaceAll(',', '\\,')
    .replaceAll(/\r\n|\r|\n/g, '\\n');

/** Continues long lines on the next one, after a blank, and breaks no character. */
function folded(line: string): string {
  const lines: string[] = [];
  let current = '';
  for (const character of line) {
    if (bytesOf(current + character) > LINE) {
      lines.push(current);
      current = ' ';
    }
    current += character;
  }
  return [...lines, current].join('\r\n');
}

/** From when to when; of days the end is the day after the last one. */
function during({ from, to, whole }: Span, minutes: number): string[] {
  if (!whole) return [`DTSTART:${stamp(from)}`, `DTEND:${stamp(to ?? from + minutes * 60_000)}`];
  const day = (at: number) => stamp(at).slice(0, 8);
  return [`DTSTART;VALUE=DATE:${day(from)}`, `DTEND;VALUE=DATE:${day((to ?? from) + 86_400_000)}`];
}

export interface Entry {
  /** Names the entry for ever, so that a calendar that reads it twice has it once. */
  id: string;
  title: string;
  span: Span;
  /** How long it takes if it has no end of its own. */
  minutes: number;
  link: string;
}

/** A file with one entry; `now` in milliseconds since 1970. */
export function calendar({ id, title, span, minutes, link }: Entry, now: number): string {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Ostrakon//Decisions//EN',
    'BEGIN:VEVENT',
    `UID:${id}@ostrakon`,
    `DTSTAMP:${stamp(now)}`,
    ...during(span, minutes),
    `SUMMARY:${escaped(title)}`,
    `URL:${link}`,
    'END:VEVENT',
    'END:VCALENDAR',
  ];
  return lines.map((line) => `${folded(line)}\r\n`).join('');
}
