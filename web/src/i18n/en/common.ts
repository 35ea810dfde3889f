// The frame around every page, and what several pages say.

export const en = {
  name: 'Ostrakon',
  skip: 'Skip to the content',
  language: 'Language',
  leave: 'Leave the room',
  decide: 'Decide',
  loading: 'Loading…',

  absent: 'This server has nothing at the address that you opened. What it has is below.',

  key: {
    copy: 'Copy',
    copied: 'Copied',
  },

  page: {
    kept: 'This server does not answer. The page is the one that this device has kept.',
    newer: 'There is a newer version of this page.',
    update: 'Load it',
  },

  refusal: {
    pageTitle: 'This part of the page could not be loaded',
    page: 'The server does not answer, or it has a newer page than the one that is open here.',
    brokenTitle: 'This page does not work here',
    broken: (reason: string) =>
      `What happened: ${reason}. Load the page anew; if that does not help, tell the people who run this server.`,
    storage:
      'This browser forbids this site to keep anything, and so there is nowhere for your key. Allow cookies and site data for this address, then load the page anew.',
    retry: 'Try again',
    home: 'Back to the start',
    full: 'this browser’s storage is full, so this device can keep nothing; clear the data of sites that you do not need',
    hostKey:
      'This browser does not keep your key for this room. Open your host link; it ends with the key.',
    hostKeyTitle: 'The key of a host is missing',
    noPolls: 'this is no file with prepared questions',
    badPoll: (n: number) =>
      `question ${n} in the file cannot be asked: it is too long, or its answers are not 2 to 20 different ones`,
    spoilt:
      'what this browser kept for the room cannot be read; clear this site’s data to begin anew',
    occupied:
      'this device has something to say under a key of its own: wait until that is published, or forget the room here first',
    otherKey: 'this is no file with a key for this room',
    sameKey: 'this browser takes part in the room already',
    wrongServersTitle: 'These are not the servers that your link names',
    wrongServers: (server: string) =>
      `The link carries a fingerprint of the servers’ keys. ${server} shows other keys, or another room than the link names. Nothing was sent. Ask whoever gave you the link for the right one, by another way than before.`,
    contradicts: (server: string) =>
      `The server “${server}” says that it belongs to other servers than your link names. That is not believed: what holds is what the link says. Tell the people who run the servers.`,
    unusable: 'the link’s room is none that servers can keep',
    insecureTitle: 'This connection is not protected',
    insecure:
      'The page came over plain HTTP, so anybody on the way could have changed it. Open the room over HTTPS.',
    away: 'the server did not answer, or this device has no network',
    awayFrom: (server: string) => `${server} did not answer, or this device has no network`,
    failedTitle: 'The room cannot be opened',
    failed: (reason: string) => `What happened: ${reason}.`,
  },
};

export type Common = typeof en;
