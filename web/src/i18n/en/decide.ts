// Making a decision.

import { several } from './words';

const people = (n: number) => several(n, 'person', 'people');

export const en = {
  title: 'Decide together',
  lead: 'Each of you comes by twice, shortly: once to accept, and once to answer. What comes out is the result and nothing else: no server on its own, and none of you, learns more of an answer than the result tells. The fewer answers count, the more that is, and the first server can hold answers back.',
  loading: 'Asking the server what it allows…',

  topic: {
    title: 'What is it about?',
    question: ['A question', 'Yes or no, or up to eight answers.'],
    dates: ['A date', 'Several dates, and each of you says which are possible.'],
  },
  question: 'Your question',
  questionHint: 'Everybody with a link sees it.',
  example: { question: 'Shall we hire Ada?', dates: 'When shall we meet?' },

  options: {
    title: 'Answers',
    label: (n: number) => `Answer ${n}`,
    yes: 'Yes',
    no: 'No',
    veto: 'Veto',
    noVeto: 'No objection',
    add: 'Add an answer',
    remove: (n: number) => `Remove answer ${n}`,
    binary: 'Rules like “majority” count the first of the two answers.',
  },
  dates: {
    title: 'Dates',
    label: (n: number) => `Date ${n}`,
    hint: 'In your own time zone; others see them in theirs.',
    end: (n: number) => `End of date ${n}`,
    kind: 'What do you choose from?',
    kinds: {
      times: ['Times of day', 'A day and a time.'],
      days: ['Whole days', 'A day, or several in a row, without a time.'],
    },
    ends: 'Dates have an end, too',
    several: 'Several days in a row',
    first: 'From',
    last: 'To',
    addDays: (n: number) => (n === 0 ? 'Add each day' : `Add ${several(n, 'day', 'days')}`),
    daysHint: 'Days are the same for everybody, whatever their time zone.',
    add: 'Add the next day',
    remove: (n: number) => `Remove date ${n}`,
    possible: 'Possible',
    ifNeedBe: 'If need be',
    offer: 'Offer “if need be” as an answer, too',
    impossible: 'Not possible',
  },

  rule: {
    title: 'What comes out?',
    each: 'It comes out for each date, and no more than that.',
    majority: {
      name: 'A majority',
      says: (option: string) => `Only whether more than half say “${option}”.`,
    },
    unanimous: {
      name: 'Everybody agrees',
      says: (option: string) => `Only whether everybody says “${option}”.`,
    },
    'at-least': {
      name: 'At least a certain number',
      says: (option: string) => `Only whether enough people say “${option}”; you say how many.`,
    },
    veto: {
      name: 'No veto',
      says: (option: string) => `Only whether nobody says “${option}”, not how many do.`,
    },
    parity: {
      name: 'Odd or even',
      says: (option: string) => `Only whether an odd number says “${option}”: for a fair draw.`,
    },
    plurality: {
      name: 'The most frequent answer',
      says: () => 'Only which answer was given most often, not how often.',
    },
    tally: { name: 'The full count', says: () => 'How often each answer was given.' },
    custom: {
      name: 'A table of your own',
      says: () => 'For every number of answers, you say what comes out.',
    },
    enough: 'How many are enough?',
    tie: 'If several are equally frequent',
    ties: { first: 'the one that stands first wins', none: 'none wins' },
    table: 'What comes out',
    tableHint:
      'One value from 0 to 255 for each way in which the answers can come together. Say in the question what the values mean.',
    answers: 'Answers',
    value: 'Value',
    tableOf: (n: number) =>
      `A table has one row for each number of answers: it is made for ${people(n)}, whom you name below.`,
  },

  people: {
    title: 'Who decides?',
    way: 'How do the others get in?',
    ways: {
      link: [
        'By one link for all',
        'You share one link. Whoever opens it asks by name, and you approve of each before it begins.',
      ],
      list: [
        'By a link for each person',
        'You name everybody now. Each person gets a link of their own.',
      ],
    },
    open: 'The others are added as you approve of them.',
    list: 'Names, one on each line',
    hint: 'Behind the name, after a comma, there may be an e-mail address, or the account code of somebody you know. Everybody who is asked sees the names, nobody the addresses.',
    mail: 'Once the decision is made, you can have the links sent by e-mail. The server that sends them reads them, and could take somebody’s place: hand them over yourself if it must not.',
    noMail: 'No server here sends e-mail: you will get a link for each person, to send yourself.',
    file: 'From a table (CSV)…',
    me: 'I decide, too, as',
    known: 'People you have decided with',
    knownHint:
      'They need no invitation: their devices have left keys at the servers. They take part under the same account wherever they are asked by it.',
    sameName:
      'Where several have the same name, the digits tell them apart: with them begins the code that each finds on this page under “Your account”. Everybody who is asked sees them behind the name.',
    forget: (name: string) => `Forget “${name}”`,
    forgotten:
      'Forgotten. Once you open a decision again in which they take part, they are listed again.',
    count: (n: number) => `${people(n)} will decide.`,
    wrong: (lines: number[]) => `Without a name of its own: line ${lines.join(', ')}.`,
  },

  absence: {
    title: 'If somebody stays away',
    2: [
      'Any two of the three operators can stand in',
      'After the deadline they give the assumed answer, even if the third has lost its part of a key. Nothing but the result becomes known as long as one operator is honest. Without all three operators there is no result.',
    ],
    3: [
      'Only all three operators together',
      'After the deadline they give the assumed answer, unless one of them has lost its part of a key. In return, no two of them can put a key together. Nothing but the result becomes known as long as one operator is honest. Without all three operators there is no result.',
    ],
    0: [
      'Nobody',
      'Then there is no result. In return no operator ever holds anything of anybody’s key.',
    ],
    assumed: 'Whoever stays away counts as',
    all: {
      title: 'If somebody stays away, there is no result: all must answer',
      2: [
        'Any two of the three operators could put a key together',
        'They hold parts of every key, but do not stand in. Nothing but the result becomes known as long as one operator is honest.',
      ],
      3: [
        'Only all three operators together could put a key together',
        'They hold parts of every key, but do not stand in. Nothing but the result becomes known as long as one operator is honest.',
      ],
      0: ['Nobody', 'No operator ever holds anything of anybody’s key.'],
    },
  },
  acceptBy: 'Accept by',
  acceptByHint: (ends: boolean) =>
    `Answers are taken as soon as everybody has accepted. ${ends ? 'If somebody has not at this time, it ends without a result' : 'At this time it goes on without those who have not'}; you see their names beforehand.`,
  acceptByOpen:
    'Until then people can ask by the link. You can begin at any time before the deadline.',
  allNeeded: 'All are needed: if somebody has not accepted by then, it ends without a result',
  deadline: 'Deadline for answers',
  deadlineHint: 'It ends earlier when all have answered.',
  quorum: 'How many must answer?',
  quorumHint: (usual: number, people: number, all: boolean) =>
    people < 3
      ? 'With fewer answers nothing is opened.'
      : all
        ? 'All must answer: if one of them stays away, nothing is opened.'
        : `With fewer answers nothing is opened, whoever stayed away. Unless you say otherwise: ${usual}, at least three.`,
  quorumOpen:
    'With fewer answers nothing is opened. Unless you say otherwise: half of those who take part, at least three. Where only three take part all must answer, and nobody stands in.',
  two: 'Both must answer. By the result, each can often tell what the other has said.',

  code: 'Creation code',
  codeHint:
    'You get it from those who run the servers. It is sent when the decision is made, and is not kept.',
  adminHint:
    'Here only those who run the servers may begin decisions: this is their token. It is sent once, and is not kept.',

  complaint: {
    question: 'Write down the question.',
    options: 'Every answer needs words of its own.',
    ballots: 'Give at least one date, and at most twenty.',
    people: 'At least two people have to decide, and at most 200.',
    ranges: 'A date must begin before it ends.',
    deadline: 'The deadline has to be in the future, at most 400 days ahead.',
    'accept-by': 'The time to accept by has to be in the future, and before the deadline.',
    quorum: 'How many must answer has to be at least three (two of two), and at most all.',
    enough: 'How many are enough has to be between one and the number of people.',
    large: 'That is too much for one visit: ask fewer people, or give fewer answers or dates.',
    table: 'Fill in the table anew: the number of people or answers has changed.',
    names: 'Every person needs a name that looks like nobody else’s.',
    seats: 'Two of these people have the same account.',
    long: 'The question may have about 500 letters, every name and every answer about 100.',
    labels: 'Every date has to be another one.',
    function: 'This rule needs exactly two answers.',
    assumed: 'Choose which answer counts for whoever stays away.',
    threshold: 'Choose who stands in for whoever stays away.',
  },
  submit: 'Make the decision',
  makeLink: 'Make the link',
  makingLink: 'Signing…',
  making: 'Asking the three operators for their keys, and signing…',
  failed: (reason: string) => `The decision was not made: ${reason}.`,
  perhaps: (reason: string) =>
    `Perhaps the decision was made: ${reason}. Look at it under “Your decisions” before you make it again.`,
  unreachable: 'the first server has taken it, but the others do not show it yet',
  notBegun: {
    layer: (server: string) =>
      `${server} gave a key that is not its own, or is not for this decision; tell the people who run the servers`,
    altered: 'the first server names another decision than was asked for',
  },

  mine: {
    links: 'Your join links',
    title: 'Your decisions',
    forget: (question: string) => `Take “${question}” off this list`,
    forgotten: 'Taken off. The link still opens it.',
    warning: (question: string) =>
      `You made “${question}”. The invitations that were not used yet are in this browser only, and are lost when you take it off this list.`,
    warningYes: 'Take it off',
  },

  account: {
    title: 'Your account',
    text: 'It lives in this browser only, and at this address: a key, no password, no e-mail address. Under another server’s address you have another one. With its code, others can ask you without a link.',
    code: 'Your account code',
    save: 'Save as a file…',
    load: 'Load from a file…',
    warning:
      'Whoever has this file is you in every decision. Keep it where only you can reach it, and use the account in one browser at a time.',
    warningYes: 'Save the file',
    replace:
      'The account in this browser is replaced by the one in the file. If you have not saved it, it is lost, and so is your place in its decisions. What this browser has answered stays answered, however old the file is.',
    replaceYes: 'Replace it',
    loaded: 'The account was loaded.',
  },
};

export type Decide = typeof en;
