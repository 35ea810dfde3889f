import { expect, test } from 'vitest';

import { calendar } from './calendar';
import { bytesOf } from '../../page/text';

const entry = {
  id: 'ab',
  title: 'Wann; wo, und\nwer\\was',
  span: { from: Date.UTC(2027, 0, 2, 18, 30), to: null, whole: false },
  minutes: 90,
  link: 'https://a.example/#/decision/ab/cd',
};

test('a date is written in UTC, with its end', () => {
  const text = calendar(entry, Date.UTC(2026, 10, 22, 4, 5, 6));
  expect(text.split('\r\n')).toEqual([
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Ostrakon//Decisions//EN',
    'BEGIN:VEVENT',
    'UID:ab@ostrakon',
    'DTSTAMP:20261122T040506Z',
    'DTSTART:20270102T183000Z',
    'DTEND:20270102T200000Z',
    'SUMMARY:Wann\\; wo\\, und\\nwer\\\\was',
    'URL:https://a.example/#/decision/ab/cd',
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ]);
});

test('long lines are folded between characters, and unfolding gives them back', () => {
  const title = 'ä🗳'.repeat(60);
  const text = calendar({ ...entry, title }, 0);
  for (const line of text.split('\r\n')) expect(bytesOf(line)).toBeLessThanOrEqual(75);
  expect(text.replaceAll('\r\n ', '')).toContain(`SUMMARY:${title}\r\n`);
});

test('an end of its own counts, and of days the day after the last one', () => {
  const [from, to] = [Date.UTC(2027, 0, 30), Date.UTC(2027, 0, 31)];
  const lines = (span: { from: number; to: number | null; whole: boolean }) =>
    calendar({ ...entry, span }, 0)
      .split('\r\n')
      .filter((line) => /^DT(START|END)/.test(line));
  expect(lines({ from, to, whole: true })).toEqual([
    'DTSTART;VALUE=DATE:20270130',
    'DTEND;VALUE=DATE:20270201',
  ]);
  expect(lines({ from, to: null, whole: true })).toEqual([
    'DTSTART;VALUE=DATE:20270130',
    'DTEND;VALUE=DATE:20270131',
  ]);
  expect(lines({ from, to, whole: false })).toEqual([
    'DTSTART:20270130T000000Z',
    'DTEND:20270131T000000Z',
  ]);
});
