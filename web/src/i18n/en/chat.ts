// Messages between two people.

import { duration, several } from './words';

export const en = {
  connecting: 'Comparing the servers’ keys with your link…',
  elsewhereTitle: 'Your messages are open in another tab',
  elsewhere:
    'One tab of this browser takes part at a time, so that nothing is sent twice. To add somebody, paste their link there. As soon as that tab is closed, this one goes on.',

  sees: {
    title: 'Who sees what',
    text: [
      'The servers see that this page is open, and when; in every round it sends one row that looks random and reads all rows, whether you write or not.',
      'The person you write to reads what you write, and sees when you are here.',
      'Nobody else learns anything: not with whom you write, and not whether you write to anybody.',
    ],
    stay: 'Who comes only to talk shows when they talk: leave this page open as long as you can. In a tab that is covered for long, browsers slow it down, and it misses rounds; nothing gets lost by that.',
    kept: 'Contacts and messages are kept on this device only, encrypted. Whoever can use this browser as you do can read them. What you clear here cannot be brought back.',
  },

  welcome: {
    title: 'Write to each other, and nobody learns with whom',
    lead: (room: string) =>
      `“${room}” is a room for messages between two people. The servers that pass them on do not learn who writes to whom.`,
    added:
      'You followed the contact link of somebody whom you can write to here. If you have contacts in this room already, on the page of another of its servers, paste the link there instead.',
    name: 'Your name, for those you call',
    nameHint: 'Only people whom you call see it. It can be anything.',
    partner: 'What you call the person whose link this is',
    begin: 'Begin',
  },

  presence: {
    looking: 'Looking for a server…',
    here: 'You take part in every round, whether you write or not.',
    waiting: 'Waiting for the next round…',
    round: (seconds: number) =>
      `A round takes ${duration(seconds)}. What you write goes out in one of the next five, and is confirmed five rounds later.`,
    closed: 'This room is closed. Nothing more is sent; what was said stays on this device.',
    full: 'The storage of this browser is full. Nothing is sent before this device can write down what it does. Clear the data of sites that you do not need; this page then goes on by itself.',
    eased: (enough: number) =>
      `The host has lowered the number of people that a round needs, to ${enough}. Nothing is sent until you agree.`,
    agree: 'Agree',
    alarm: (server: string, reason: string) => `${server} showed something forged: ${reason}`,
  },

  people: {
    title: 'Contacts',
    none: 'Nobody yet. Add somebody by their contact link, or give somebody yours.',
    unread: (n: number) => several(n, 'new message', 'new messages'),
    title2: (n: number, name: string) => `(${n}) ${name}`,
    back: 'All contacts',
    choose: 'Choose a contact to read and write.',
  },

  state: {
    idle: 'no conversation',
    calling: 'you call',
    called: 'calls you',
    answering: 'you have accepted',
    talking: 'in conversation',
    ending: 'the conversation ends',
  },

  call: {
    known: (name: string) => `${name} calls you.`,
    stranger: (name: string) =>
      `Somebody calls you and takes the name “${name}”. Nothing proves the name.`,
    by: (label: string) => `By your link “${label}”.`,
    accept: 'Accept',
    decline: 'Do not accept',
    declineHint: 'They are not told: it looks as if you were away.',
    call: 'Call',
    calling: 'Your call goes out in every fifth round until it is accepted.',
    unanswered:
      'No answer so far. They may be away, may not want to accept, or may have taken this link back: a link that was taken back reaches nobody, and nobody can tell you which it is. Ask for another link by another way.',
    takeBack: 'Take the call back',
    notCallable: 'You have no link of this contact, so only they can call.',
    again: 'The conversation is over. What you write begins a new one.',
  },

  talk: {
    title: (name: string) => `Conversation with ${name}`,
    none: 'Nothing was said yet.',
    label: 'Your message',
    send: 'Send',
    key: 'Ctrl + Enter sends',
    left: (n: number) => `${several(n, 'byte', 'bytes')} left`,
    over: (n: number) => `${several(n, 'byte', 'bytes')} too long`,
    you: 'You',
    end: 'End the conversation',
    endPrompt: (name: string) =>
      `End the conversation with ${name}? They are told. You can call each other again.`,
    remove: 'Forget this contact',
    removePrompt: (name: string) =>
      `Forget ${name}, and everything that was said? ${name} is not told; to them you are away.`,
    removeNow: 'Forget',
    received: (name: string) => `New message from ${name}`,
    copied: (name: string) =>
      `The conversation with ${name} was ended here. Another copy of your contacts takes part in it from elsewhere, or ${name} has written in your place. Use one copy only, then call ${name} again.`,
  },

  message: {
    waiting: 'waits',
    sent: 'sent',
    delivered: 'delivered',
    'sent-again': 'sent again',
    'round-stopped': 'its round was stopped; it is sent again',
    unknown: 'not known whether it arrived',
  },
  meaning: {
    title: 'What becomes of a message',
    waiting: 'It is on this device: the conversation has not begun, or its turn has not come.',
    sent: 'All of it was handed out once.',
    delivered: 'It is on the other device; not that it was read.',
    'sent-again': 'Nothing was heard in time. The other device may be away; it goes on by itself.',
    'round-stopped': 'That round brought nothing out. The next one takes it along.',
    unknown: 'The conversation ended before it was confirmed.',
  },

  code: {
    title: 'Is it really them?',
    text: 'Read these digits to each other once, on the telephone or face to face. If they are the same, nobody stands between you.',
    label: 'Digits to compare',
    none: 'There is something to compare as soon as the conversation stands.',
  },

  add: {
    title: 'Add somebody',
    link: 'Their contact link',
    name: 'What you call them',
    add: 'Add',
    practice:
      'This is no person but a partner for practice: a program that takes every call and gives you your own words back.',
    practiceName: 'Practice partner',
    hint: 'A contact link contains #/chat/ and ends with a long key.',
    done: (name: string) => `${name} is added. Write something: that calls them.`,
  },

  links: {
    title: 'Your contact links',
    lead: 'Whoever has one of your links can call you, and nothing else. Give each person another one, so that you can take each back by itself.',
    label: 'For whom?',
    make: 'Make a link',
    none: 'You have no link yet. Without one, nobody can call you.',
    shown: (label: string) => `Contact link for ${label}`,
    qr: (label: string) => `Picture code of the contact link for ${label}`,
    unnamed: 'somebody',
    hint: 'Hand it to this one person, best by a way that others do not read.',
    revoke: 'Take back',
    revokeOf: (label: string) => `Take back the link for ${label}`,
    revokePrompt: (label: string) =>
      `Take back the link for ${label}? Nobody can call you by it any more. Conversations that it led to go on.`,
    revoked: (label: string) => `The link for ${label} is taken back.`,
  },

  forget: {
    ask: 'Forget everything on this device',
    hint: 'Contacts, links and messages of this room are erased here. Nobody is told.',
    prompt:
      'Forget all contacts, links and messages of this room on this device? They cannot be brought back.',
    now: 'Forget everything',
  },

  refused: {
    other: 'that did not work',
    'no-link':
      'This is not a contact link. Copy the whole link, from http to the last letter of its key.',
    'other-room':
      'This link leads to another room for messages. Open it in this browser’s address line.',
    'own-link': 'This is a link of your own. Give it to others.',
    'too-narrow': 'The rows of this room are too short for messages.',
    'too-many-links': 'You have as many links as this device keeps. Take one back first.',
    'too-many-contacts': 'You have as many contacts as this device keeps. Forget one first.',
    'no-such-link': 'There is no such link any more.',
    'no-such-contact': 'There is no such contact any more.',
    'not-callable': 'You have no link of this contact, so only they can call.',
    engaged: 'There is a conversation or a call already.',
    'not-called': 'They do not call any more.',
    'no-channel': 'You have four conversations, which is as many as go at a time. End one first.',
    'nothing-to-end': 'There is no conversation and no call.',
    'too-long': 'This is too long. Send it in pieces.',
    empty: 'There is nothing to send yet.',
    'too-much': 'As much as can wait is waiting already. Wait until some of it is delivered.',
    'bad-name': 'A name has 1 to 64 bytes.',
    'calls-dropped':
      'More calls came in than are kept. If a link of yours went too far, take it back.',
  },
};

export type Chat = typeof en;
