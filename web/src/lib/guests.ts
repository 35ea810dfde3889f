// Who is asked, as creators paste it: a name in each line, or a table's rows.
// An account's code may stand beside the name; e-mail addresses are passed over.

export interface Guest {
  name: string;
  /** The account of somebody who is known; otherwise an invitation is made. */
  account: string | null;
}

export interface GuestList {
  guests: Guest[];
  /** Lines without a name or with one that was there before, from 1. */
  wrong: number[];
}

const ACCOUNT = /^[0-9a-f]{64}$/i;
const MAIL = /^[^\s@]+@[^\s@]+$/;

/** The cells of a row: separated by commas, semicolons or tabs, in quotation marks if they hold such a sign. */
function cells(line: string): string[] {
  const found = line.matchAll(/(?:^|[,;\t])\s*(?:"((?:[^"]|"")*)"|([^,;\t]*))/g);
  return [...found].map(([, quoted, plain]) => (quoted?.replaceAll('""', '"') ?? plain ?? '').trim()).filter((cell) => cell !== '');
}

export function guestsIn(text: string): GuestList {
  const guests: Guest[] = [];
  const wrong: number[] = [];
  const names = new Set<string>();
  for (const [index, line] of text.replace(/^\uFEFF/, '').split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const parts = cells(line);
    const account = parts.find((part) => ACCOUNT.test(part))?.toLowerCase() ?? null;
    const named = parts.filter((part) => !ACCOUNT.test(part));
    const name = (named.find((part) => !MAIL.test(part)) ?? named[0])?.normalize('NFC');
    if (!name || names.has(name)) wrong.push(index + 1);
    else {
      names.add(name);
      guests.push({ name, account });
    }
  }
  return { guests, wrong };
}
