// The start page.

export const en = {
  title: 'Say it without your name',
  lead: 'Ostrakon is a wall for a group. Several servers, run by different people, shuffle what the group writes. Then it is on the wall, and nobody, the servers included, can tell who wrote what.',
  word: 'An ostrakon was a potsherd on which an Athenian scratched a name, and cast it among the others.',
  linkLabel: 'Link to a room',
  linkHint: 'You get it from whoever opened the room.',
  open: 'Open the room',
  howTitle: 'How it works',
  how: [
    ['Break', 'On your device, your message is covered with masks from three servers. No server sees more than a shard of it.'],
    ['Shuffle', 'When the epoch is sealed, each server shuffles the shards in an order that it keeps to itself.'],
    ['Join', 'The shards are put together again. The messages appear on the wall, signed, in an order nobody knows.'],
  ],
};

export type Start = typeof en;
