// The start page.

import { day } from './words';

export const en = {
  title: 'Say it without your name',
  lead: 'Ostrakon is a wall for a group. Several servers, run by different people, shuffle what the group writes. Then it is on the wall, and nobody, the servers included, can tell who wrote what.',
  word: 'An ostrakon was a potsherd on which an Athenian scratched a name, and cast it among the others.',
  linkLabel: 'Link or code of a room',
  linkHint:
    'You get it from whoever opened the room. A link names the servers’ keys by itself; a code like 7F3K-Q2MA leaves that to the server of this page. A host link opens the host’s page.',
  open: 'Go to the room',
  neither:
    'This is neither a link to a room, as whoever opened it has it, nor a code of eight letters and digits.',
  unloaded: 'The part of this page that reads links could not be loaded. Try again in a moment.',
  create: 'Open a room of your own',
  decide: 'Decide something together',

  rooms: {
    title: 'Your rooms on this device',
    hint: 'Only this browser knows this list. Rooms that you only read are not on it.',
    host: 'you host it',
    last: (at: number) => `last visited ${day(at)}`,
    forget: (name: string) => `Forget “${name}” on this device`,
    forgetHost: (name: string) => `Forget that you host “${name}”`,
    prompt: (name: string) =>
      `Forget “${name}” on this device? Your key there and what is kept of the room are erased. A message that was not published is lost, and in a room for members you need to be admitted again.`,
    promptHost: (name: string) =>
      `Forget on this device that you host “${name}”? Your key goes, and with the last one the questions that you have prepared. Only the host link opens the host’s page again. Have you kept it?`,
    forgetNow: 'Forget',
    forgotten: (name: string) => `“${name}” is forgotten on this device.`,
    busy: (name: string) =>
      `“${name}” is open in another tab of this browser. Close that tab first.`,
  },

  code: {
    title: (code: string) => `Room ${code}`,
    looking: 'Looking for the room…',
    unknown: (code: string) =>
      `This server knows no room ${code}. Check the letters, and that this is the server whose address stands beside the code.`,
    trust: (server: string) =>
      `For a code, this page has to believe its server, ${server}, which room it means and which keys the others have. A link or a picture code needs no such belief: it carries a fingerprint of all keys. If this server were to lie, all three servers could be its own.`,
    servers: 'It names these servers',
    digest: 'Fingerprint of their keys, to be compared with the one of whoever opened the room',
    go: 'Go on to the room',
  },
  howTitle: 'How it works',
  how: [
    [
      'Break',
      'On your device, your message is covered with masks from three servers. No server sees more than a shard of it.',
    ],
    [
      'Shuffle',
      'When the epoch is sealed, each server shuffles the shards in an order that it keeps to itself.',
    ],
    [
      'Join',
      'The shards are put together again. The messages appear on the wall, signed, in an order nobody knows.',
    ],
  ],
};

export type Start = typeof en;
