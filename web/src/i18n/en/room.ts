// The participant's page.

import { clock, duration, several, spoken } from './words';

const people = (n: number) => several(n, 'person takes part', 'people take part');

export const en = {
  connecting: 'Comparing the servers’ keys with your link…',
  aside: 'How the room stands',
  closed: 'This room is closed. Its wall remains.',
  elsewhere:
    'This room is open in another tab of this browser, and that one takes part. Here you can read along.',
  reading: 'You read along. The servers see that this page is open, and nothing else of you.',
  admission: 'Reading whom the host has admitted…',
  offline:
    'No server answers. You see what this device has kept, as it was verified then. What you write is kept here, too, until a server answers.',
  full: {
    own: 'The storage of this browser is full. Your message is on this page only, and is not sent before this device can keep it: otherwise a reload could say it in two ways. Clear the data of sites that you do not need; this page then goes on by itself. Until then, do not close it.',
    nothing:
      'The storage of this browser is full. This page hands in nothing before this device can write down what it does: otherwise a reload could undo what hides you. Clear the data of sites that you do not need; this page then goes on by itself.',
  },
  purpose: 'What this room is for',

  join: {
    title: 'Before you take part',
    lead: 'Nothing has been sent yet but questions. Read what this room does for you, and decide.',
    take: 'Take part',
    read: 'Only read along',
    again: 'Take part after all',
    servers: 'Run by',
    serversHint: 'Any two of them together could undo the shuffle. Would these?',
    crowd: 'The crowd',
    crowdNow: (n: number) => `${people(n)} now.`,
    crowdBefore: (n: number) => `The last epoch was shuffled among ${n}.`,
    crowdMinimum: (enough: number, minimum: number) =>
      minimum > 0
        ? `Messages appear from ${several(enough, 'person', 'people')} on.${minimum === 1 ? ' Two do not hide each other from each other, and less from a server that takes part itself.' : ''}`
        : 'This room is for practice. It publishes what a single person says, and everybody then knows whose it is.',
    cheat: 'If a server cheats',
    fair: 'The epoch is dropped before anything of it is seen, the proof is published, and messages enter the next one.',
    robust:
      'The epoch goes on: a server that is proved honest finishes it alone, and learns who wrote what in it.',
    kept: 'How long it stays',
    keptDays: (days: number) =>
      `${duration(days * 86_400)}; then the servers erase the words. The chain of their digests stays.`,
    keptOpen: 'As long as the servers run. Whoever could read it may have copied it.',
    who: 'Who may take part',
    open: 'Whoever has the link.',
    members: (n: number) =>
      `Keys that the host has admitted, and devices that have used its invitations: ${n} so far.`,
    sybilTitle: 'One person can be many',
    sybilOpen:
      'What is counted here are devices, not people. Somebody who comes with many can be most of the crowd, and knows which messages are not theirs. This room is open: the servers bound what one network address takes, and that is all. Trust the number as far as you trust who has the link. The number “now” is each server’s own word, and a dishonest one can say more.',
    sybilMembers:
      'What is counted here are keys, not people. This room takes only keys that its host has admitted; how many there are is known to all. A host who admits keys of their own could be most of the crowd. Trust the number as far as you trust the host. The number “now” is each server’s own word, and a dishonest one can say more.',
    overTitle: 'Over time, patterns tell',
    over: 'Whoever notes who is there in every epoch, and in which epochs messages of one kind appear, can narrow down their writer: after enough epochs to one. Against that, this page hands in an empty shard whenever you have nothing to say, so that being there is not speaking. It helps to stay for the whole time instead of coming to speak, and not to write one recognisable thread over many epochs.',
    invited:
      'Your link is an invitation for one device. If you take part, this device makes a key of its own, which nobody else ever has, and takes the invitation with it. From then on the link is of no use to anybody, its maker included. So take part on the device on which you want to write.',
  },

  eased: {
    title: (enough: number) =>
      `The host has lowered how many are enough: messages appear from ${enough} people on`,
    text: (before: number, minimum: number) =>
      `When you joined, messages appeared from ${several(before, 'person', 'people')} on. Until you agree, this device says nothing here: it hands in empty shards, as it does when you are silent.${minimum === 1 ? ' Among two, each knows what the other has said.' : ''}`,
    agree: (enough: number) => `Agree: speak from ${enough} on`,
  },

  claiming: 'Taking your invitation for this device…',
  claimAgain: (reason: string) =>
    `That has not succeeded yet: ${reason}. This page tries again by itself.`,

  apart: {
    outside: {
      title: 'The host has not admitted this device yet',
      text: [
        'Only keys that the host has admitted take part in this room. Give the host this key, or ask for an invitation link.',
        'This page begins by itself as soon as you are admitted; until then you can read along.',
      ],
    },
    used: {
      title: 'This link has been used on another device',
      text: [
        'An invitation is for one device: the first one that takes part with it. Here you can read along.',
        'If the other device is yours, take part there, or move its key here: “Move to another device”, under “Compare with others”.',
        'If it was somebody else, tell the host. The host can dismiss this invitation and give you another one.',
      ],
    },
    dismissed: {
      title: 'The host has dismissed this device',
      text: [
        'Its key took part in this room, and does not any more. What was said with it stays on the wall, and nobody knows which words those are. You can read along.',
        'If you think that this is a mistake, give the host this key or ask for a new invitation link. This page begins by itself if you are admitted again.',
      ],
    },
    withdrawn: {
      title: 'The host has taken this invitation back',
      text: [
        'The link does not let anybody in any more. Here you can read along.',
        'If you should take part, ask the host for a new invitation link, or, once you have tried this one, give the host your key.',
      ],
    },
    moved: {
      title: 'Another device of yours goes on',
      text: [
        'This device has given its key away in a file, and does not take part any more. Open the file on one other device, in this room, and delete it then.',
      ],
    },
  },

  move: {
    ask: 'Move to another device',
    hint: 'Saves your key and what is not published yet to a file, and stops here. Open the file on the other device.',
    prompt:
      'Stop taking part on this device, and save its key to a file? Whoever has the file is you in this room. Open it on one device only: two devices with one key would spoil what protects both.',
    now: 'Save and stop here',
    again: 'Save the file again',
    file: 'key',
    bring: 'Go on here with the key of another device',
    bringHint: 'Choose the file that the other device has saved. It must have stopped there.',
    failed: (reason: string) => `That did not work: ${reason}.`,
  },

  key: {
    title: 'Your key in this room',
    text: 'This is how the servers know this device in this room, and nowhere else. It says nothing about you, and the servers see that it takes part, never what it writes. A host who keeps a list of members asks you for it.',
  },

  compose: {
    label: 'Your message',
    next: (epoch: number, at: number | null) =>
      at === null
        ? `It enters epoch ${epoch}.`
        : `It enters epoch ${epoch}, which is sealed at about ${clock(at)}; then it is shuffled and published.`,
    hint: (seconds: number) =>
      `It enters the next epoch that is sealed; an epoch collects for ${duration(seconds)}.`,
    left: (bytes: number, letters: number) =>
      letters < 20
        ? `${several(bytes, 'byte', 'bytes')} left`
        : `room for about ${letters} letters`,
    over: (bytes: number) => `${several(bytes, 'byte', 'bytes')} too long`,
    bytes: (limit: number) =>
      `A message has ${limit} bytes: a plain letter takes one, é or ж two, most emoji four and more. All are sent at the same length.`,
    send: 'Send without a name',
    key: 'Ctrl + Enter sends',
  },

  own: {
    title: 'Your message',
    waiting: 'Kept on this device. It enters the next epoch.',
    inside: (epoch: number) =>
      `In epoch ${epoch}. It stays on this device until it is on the wall, and cannot be taken back now.`,
    due: (at: number) => `Sealed at about ${clock(at)}, shuffled and published shortly after.`,
    unkept: 'On this page only, until this device can keep it.',
    resting: 'Kept on this device. It waits until this page takes part again.',
    back: 'Take back and change',
    published: (epoch: number, among: number) =>
      `Your message is on the wall, unaltered: epoch ${epoch}, shuffled among ${among}.`,
    erased: (epoch: number) =>
      `Your message cannot be read on the wall: messages of epoch ${epoch} have been erased, and this device takes yours to be among them. It is not said again.`,
    signed: (servers: string[]) =>
      `Checked on this device: signed by ${spoken(servers)}. Nothing here remembers which one it was once you leave.`,
    again: (epoch: number | null) =>
      epoch === null
        ? 'The epoch was published without your message. It enters the next one.'
        : `Epoch ${epoch} ended without a result, and nothing of it was revealed. Your message enters the next one.`,
    held: (epoch: number, closed: boolean) =>
      `Epoch ${epoch} was given up after its opening may have begun. Your message is not on the wall, but somebody may have read it. It is not said again by itself${closed ? '.' : ': take it back if you want to say it anew.'}`,
    closed: 'It is kept on this device and was not published. The room takes nothing more.',
  },

  polls: {
    title: 'The host asks',
    earlier: (n: number) => `Earlier questions (${n})`,
    choose: 'Choose one answer',
    chooseSeveral: 'Choose one or several answers',
    chooseMessages: 'Choose as many as you like. Each counts once.',
    rank: 'Touch the best one first, then the next, down to the last. Touch one again to take it out.',
    place: (n: number) => `number ${n}`,
    pattern:
      'What you choose here is published as one list, without a name. Whoever chooses in an unusual way, and the same way again in the next round, can be recognised as the same unknown person.',
    right: 'It is right.',
    wrong: 'It is not the right one.',
    rate: (highest: number) => `From 1 to ${highest}`,
    words: 'A few words',
    answer: 'Answer',
    change: 'Change the answer',
    all: (epoch: number) =>
      `All answers come out together, in epoch ${epoch}, shuffled like messages. Nobody answers twice, and who does not answer looks the same as who does.`,
    waiting: (epoch: number, at: number | null) =>
      at === null
        ? `Your answer is kept on this device until epoch ${epoch}. Keep this page open until then; you can change it.`
        : `Your answer is kept on this device until epoch ${epoch}, about ${clock(at)}. Keep this page open until then; you can change it.`,
    sent: (epoch: number) =>
      `Your answer is handed in with epoch ${epoch}, and cannot be changed any more.`,
    counted: 'Your answer was counted.',
    lost: 'Your answer was not counted, nor anybody’s: the epoch ended without a result, and nothing of it was seen. If the host asks again, this device answers the same unless you change it.',
    missed:
      'Your answer was not counted: this device did not hand it in before the epoch was sealed.',
    doubted:
      'Your answer was not counted, nor anybody’s: the epoch was given up after its opening may have begun, so somebody may have read it. If the host asks again, this device does not answer by itself.',
    erased:
      'Your answer is not among those that can be read. Messages of this epoch are erased, and it may be one of them.',
    late: 'It is too late to answer: this device has handed in its shard for that epoch.',
    unanswered: 'You did not answer.',
  },

  epoch: {
    title: 'Epoch',
    number: (epoch: number) => `Epoch ${epoch}`,
    seals: (seconds: number) => `sealed in ${duration(seconds)}`,
    sealing: 'being sealed',
    company: 'Enough are here: waiting for what they hand in',
    overdue: (names: string[]) =>
      names.length === 0
        ? 'waiting for earlier epochs'
        : `waiting for the word of ${spoken(names)}`,
    overdueHint: (names: string[], { since, opening }: { since: number; opening: boolean }) =>
      names.length === 0
        ? `This epoch could have been sealed at ${clock(since)}, but earlier ones are still being shuffled. Nothing is lost: it follows when they are done.`
        : `This epoch could have ${opening ? 'begun' : 'been sealed'} at ${clock(since)}. For that all servers have to agree, and the word of ${spoken(names)} is missing. Nothing is lost, and nothing is revealed: ${opening ? 'what you write stays on this device and is handed in' : 'what is handed in stays there and appears'} when that word comes. Reloading does not help, and no other server can step in. If it lasts, tell the host, or whoever runs ${spoken(names)}. What keeps it back can be there, on the way there, or at a server that is waited for there in turn.`,
    open: 'collecting',
    stock: 'waiting for the servers to prepare masks',
    unknown: 'no server answers yet',
    mixing: (epochs: number[]) =>
      `Being shuffled: ${epochs.length === 1 ? 'epoch' : 'epochs'} ${epochs.join(', ')}`,
    present: (n: number) => `${people(n)} now`,
    before: (n: number, epoch: number) =>
      `Epoch ${epoch}, the last one published, was shuffled among ${n}.`,
    presentHint: 'The more take part, the less a message says about its writer.',
    waits: (here: number, expected: number | null, missing: number) =>
      `${here}${expected === null ? '' : ` of about ${expected}`} ${here === 1 ? 'is' : 'are'} here; ${missing} more, then messages appear`,
    few: (enough: number, minimum: number) =>
      minimum > 0
        ? `Messages appear from ${several(enough, 'person', 'people')} on; until then they wait.`
        : 'This room is for practice, without a crowd: what a single person says is published, and everybody knows whose it is.',
    part: {
      looking: 'Looking for a server to take part at',
      waiting: 'You take part: waiting for a place',
      placed: 'You take part: you have a place in this epoch',
      'handed-in': 'You take part: your shard is handed in',
      elsewhere: 'Another tab takes part',
      reading: 'You read along',
      outside: 'You read along until the host admits you',
      claiming: 'Your invitation is being taken',
      moved: 'Another device of yours takes part',
      resting: 'You are not taking part: nobody was here for a while',
    },
    full: (places: number) =>
      `All ${several(places, 'place', 'places')} of this epoch are taken. You take part once somebody leaves; until then, what you write stays on this device.`,
    coverTitle: 'What this page does by itself',
    cover: (hidden: number, untouched: number) => [
      'In every epoch it hands in one shard of the same length, an empty one if you have nothing to say. So taking part tells nothing.',
      `When it was covered for ${duration(hidden)} or not touched for ${duration(untouched)}, it stops until you are back, so that pages that nobody looks at do not use up what the servers have prepared. It does so whether you have something to say or not; the servers can see that it stopped.`,
      'In a background tab it goes on until then. Browsers slow such tabs down and phones may halt them: an epoch may be missed, and a message then enters the next one.',
    ],
  },

  servers: {
    title: 'Servers',
    reachable: 'answers',
    away: 'does not answer',
    unasked: 'not heard yet',
    present: (n: number) => several(n, 'participant', 'participants'),
    home: 'yours',
    pinned: 'Their keys are the ones in your link.',
    at: (place: string) => `at ${place}`,
  },

  verify: {
    title: 'Compare with others',
    text: (n: number) =>
      `This device has checked ${several(n, 'entry', 'entries')}, each signed by at least two servers and chained to the one before. Whoever sees the same letters here has read the same wall:`,
    none: 'Nothing has been published yet.',
    hosted: (n: number) =>
      `The host’s ${several(n, 'action', 'actions')}, signed and chained as well:`,
    archive: 'Download the archive',
    archiveHint:
      'A file with every entry and signature; “ostrakon verify” checks it without any server.',
    forget: 'Forget this room on this device',
    forgetHint:
      'Erases your key here and what was kept. A message that was not published is lost, and in a room for members you need to be admitted again, or another invitation: yours is used up.',
    forgetPrompt: (unpublished: boolean, members: boolean) =>
      `Forget this room on this device? Your key here and what is kept are erased, and nobody can bring them back.${unpublished ? ' Your message is not on the wall yet, and may never be.' : ''}${members ? ' To take part again, the host has to admit you anew: an invitation that you have used is of no use any more.' : ''}`,
    forgetNow: 'Forget the room',
  },

  protection: {
    title: 'What is protected, and what is not',
    yesTitle: 'Protected',
    yes: [
      'Who wrote a message. One of the three servers may be malicious, and still learns only that it was one of those who took part in the epoch.',
      'That you wrote at all: silence and speech look alike while this page is open.',
      'What is on the wall: every entry is signed and chained, and checked on your device.',
    ],
    noTitle: 'Not protected',
    no: [
      'You are hidden in the crowd of one epoch. If few take part, few can have written it; the number stands beside every entry.',
      'Two of the three servers together can undo the shuffle. Choose a room whose servers are run by people who would not collude.',
      'That you take part, and when, is visible to the servers and to your network. If messages of one kind appear only when you are there, that tells something.',
      'What you write may identify you: names, places, habits of language.',
      'This page came from one of the servers. A server that serves a changed page can break every promise to those who load it.',
    ],
    robust:
      'If a server is caught cheating, this room does not stop: another server finishes the epoch alone and learns who wrote what in it.',
  },
};

export type Room = typeof en;
