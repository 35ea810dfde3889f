// Who is asked, as creators paste it: a name in each line, or a table's rows.
// An account's code or an e-mail address may stand beside the name.

import { nameLook } from '../../page/cryptography';

export interface Guest {
  name: string;
  /** The account of somebody who is known; otherwise an invitation is made. */
  account: string | null;
  /** Where the link is to be sent. It stays in this browser until then. */
  address: string | null;
}

export interface GuestList {
  guests: Guest[];
  /** Lines without a name or with one that looks like an earlier one, from 1. */
  wrong: number[];
}

const ACCOUNT = /^[0-9a-f]{64}$/i;
const MAIL = /^[^\s@]+@[^\s@]+$/;

/** Whether a text looks like an e-mail address. Whether it is one, the mail server knows. */
export const isAddress = (text: string): boolean => MAIL.test(text) && text.length <= 254;

/**
 * The cells of a row: separated by commas, semicolons or tabs, in quotation marks if they hold such
 * a sign.
 */
function cells(line: string): string[] {
  const found = line.matchAll(/(?:^|[,;\t])\s*(?:"((?:[^"]|"")*)"|([^,;\t]*))/g);
  return [...found]
    .map(([, quoted, plain]) => (quoted?.replaceAll('""', '"') ?? plain ?? '').trim())
    .filter((cell) => cell !== '');
}

/** The headings of a table's columns, as the lines of a table are. */
const HEADING = /^(e-?mail(-?adresse)?|mail|address|adresse)$/i;

export function guestsIn(text: string): GuestList {
  const guests: Guest[] = [];
  const wrong: number[] = [];
  const looks = new Set<string>();
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    if (line.trim() === '') continue;
    const parts = cells(line);
    if (index === 0 && parts.length > 1 && parts.some((part) => HEADING.test(part))) continue;
    const account = parts.find((part) => ACCOUNT.test(part))?.toLowerCase() ?? null;
    const address = parts.find(isAddress) ?? null;
    // Everybody who is asked sees the names, which an address need not be.
    const name = (
      parts.find((part) => !ACCOUNT.test(part) && !MAIL.test(part)) ?? address?.split('@')[0]
    )?.normalize('NFC');
    const look = nameLook(name ?? '');
    if (!name || look === '' || looks.has(look)) wrong.push(index + 1);
    else {
      looks.add(look);
      guests.push({ name, account, address });
    }
  }
  return { guests, wrong };
}
