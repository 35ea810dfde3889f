// What somebody types or pastes on the start page, and where it leads.

import { parseLink, tidyCode } from './cryptography';
import { placeOf } from './routes';

/**
 * A link to something else than a room, as its maker passes it on: the servers of its origin, and
 * the place on their page.
 */
const ELSEWHERE = /^(https?:\/\/[^/#\s]+)\/?(#\/(?:decision|host|chat)\/\S+)$/;

/**
 * The address that a link or a code leads to, from the page of the server at `origin`; `null` if it
 * is neither. A link to other servers leads to their page. The cryptography must be loaded.
 */
export function addressOf(typed: string, origin: string): string | null {
  const text = typed.trim();
  const [whole, there = '', hash = ''] = ELSEWHERE.exec(text) ?? [];
  if (whole !== undefined) {
    if (placeOf(hash).params['broken'] !== undefined) return null;
    return there === origin ? hash : `${there}/${hash}`;
  }
  const code = tidyCode(text);
  if (code !== undefined) return `#/code/${code}`;
  let room: { origin: string };
  try {
    room = JSON.parse(parseLink(text)) as { origin: string };
  } catch {
    return null;
  }
  // An invitation's last part comes along.
  return (room.origin === origin ? '' : room.origin) + text.slice(room.origin.length);
}
