// Asking many people for a number each, and what comes of it.

import { moment, several, spoken } from './words';

const number = (n: number) => n.toLocaleString('en');

export const en = {
  title: 'Ask for numbers nobody sees',
  lead: 'Everybody sends one number: what they earn, how long it took. Several servers compute the median or the mean together. Nobody learns a single number, the servers included, as long as one of them is honest.',
  loading: 'Asking the server who computes…',
  question: 'What do you ask?',
  questionHint:
    'For example: “What do you earn a month, in euros?” Everybody with the link sees it.',
  kindTitle: 'What does everybody send?',
  kind: {
    number: ['A number', 'What somebody earns, how long something took.'],
    choice: ['One of several choices', 'Like a vote: it is counted how many chose what.'],
    things: [
      'A list of things',
      'It is counted how many different things stand in all lists together, about: within 3 % twice out of three times.',
    ],
  },
  choices: 'The choices, one on each line',
  choicesHint: 'They become part of the question.',
  groups: 'Groups, one on each line, if you want a result for each',
  groupsHint:
    'Everybody says to which one they belong; nobody sees that either. Of a group with too few answers nothing is told.',
  counted: {
    each: 'How many chose what',
    top: 'The three that most chose, and nothing of the others',
  },
  largest: 'Largest number that somebody could answer',
  largestHint: (largest: number) =>
    `Numbers from 0 to ${number(largest)} can be sent. Smaller is faster, and cuts off slips of the hand.`,
  whatTitle: 'What should come out?',
  what: {
    median:
      'The median: half answer less, half answer more; of an even number of answers the lower one in the middle',
    quartiles: 'The quartiles: a quarter and three quarters',
    mean: 'The sum and the mean',
    deviation: 'The mean and how far answers lie from it (standard deviation)',
    histogram: 'A picture: how many are in each of ten ranges',
  },
  shares: 'Below which values do other shares lie, in percent?',
  sharesHint: 'For example: 10 90. Leave it empty if you want none.',
  noise: {
    label: {
      number: 'Add noise, so that no single answer shows in what comes out.',
      choice: 'Add noise, so that no single choice shows in what comes out.',
      things: 'Add noise, so that no single thing in a list shows in what comes out.',
    },
    epsilon: 'How little may it tell? (ε)',
    hint: 'From 0.25 to 10; smaller numbers hide more and need more noise. 1 is common.',
    few: 'With noise, the median and other shares of fewer than 1,000 answers may be far off.',
    things:
      'Without noise, somebody who names a great many made-up things can find out whether others have named a certain one.',
  },
  minimum: 'Fewest answers',
  minimumHint:
    'With fewer, nothing is computed and nothing comes out. With very few answers, a result tells much about each.',
  whoTitle: 'Who may answer?',
  who: {
    anyone: [
      'Whoever has the link',
      'Easiest. But nobody can tell one person who answers twice from two people.',
    ],
    invited: [
      'Whoever has a link of their own',
      'You make one link for each person: one answer each.',
    ],
  },
  people: 'How many links?',
  hours: 'Closes by itself after so many hours',
  hoursHint: 'Leave it empty to close it yourself.',
  ask: 'Ask',
  asking: 'The servers take the question…',
  wrong: {
    question: 'Write what you ask, in one line.',
    choices: 'Write at least two choices, each on a line of its own.',
    groups: 'One group is none: write at least two, each on a line of its own.',
    long: 'The question and the names in it are too long together.',
    statistics: 'Choose at least one thing that should come out.',
    shares: 'Write shares from 0 to 100, with spaces between them.',
    wide: 'How far answers lie from the mean is computed of numbers below 16,777,216 only.',
  },
  done: {
    title: 'Your question is asked',
    link: 'Link to the question',
    linkHint: 'Whoever has it sees the question and, later, the result.',
    code: 'Code of the link to the question',
    links: 'One link for each person',
    linksHint: 'Each lets one person answer once. Give each to one person only.',
    save: 'Save the links as a file',
    open: 'Go to the question',
    kept: 'This browser keeps the key that closes the question: come back to the same page to close it.',
  },

  otherCommittee:
    'This server belongs to other servers than those that the link names. Nothing was sent to it.',
  unknown: 'None of the servers knows this question. Check that the link is whole.',
  noReceipt: (server: string) => `${server} did not confirm that it holds your answer.`,
  early: (missing: number) =>
    `${several(missing, 'answer is', 'answers are')} missing: with fewer than the minimum nothing is computed.`,
  unproven: 'What the servers show as the result is not proved by the signatures of all of them.',

  asked: {
    by: (servers: string[]) =>
      `${spoken(servers)} compute together. Your answer stays hidden as long as one of them is honest.`,
    comesOut: (what: string[]) => `What comes out: ${spoken(what)}. Nothing else.`,
    statistic: {
      median: 'the median (of an even number of answers the lower one in the middle)',
      quantile: (thousandths: number) => `the value below which about ${thousandths / 10} % lie`,
      sum: 'the sum and the mean',
      histogram: (bins: number) => `how many are in each of ${bins} ranges`,
      top: (places: number) => `the ${places} that most chose, and how many did`,
      distinct: 'about how many different things are named',
      choices: 'how many chose what',
      variance: 'the mean and the standard deviation',
      circuit: 'what a formula of the asker’s own makes of each answer, added up over all',
      circuitOfAll:
        'what a formula of the asker’s own makes of all answers at once; it may tell anything of yours',
      other: 'a computed value',
    },
    eachGroup: (names: string[], minimum: number) =>
      `For each group by itself${names.length > 0 ? ` (${names.join(', ')})` : ''}; of one with fewer than ${number(minimum)} members nothing is told.`,
    consent: 'I know that the result may tell my answer: the formula reads all answers at once.',
    noise: (epsilon: number, delta: number, things: boolean) =>
      `Noise is added, so that no single ${things ? 'thing in a list' : 'answer'} shows in the result (ε = ${number(epsilon)}, δ below 2^-${number(delta)}).`,
    until: (at: number) => `It closes by itself: ${moment(at * 1000)}.`,
    yours: 'Your number',
    yourGroup: 'Your group',
    noGroup: 'Choose your group.',
    choose: 'Your choice',
    choiceHint: 'Choose one.',
    things: 'Your things, one on each line',
    thingsHint: 'Write at least one. The same word must be written the same by everybody.',
    range: (largest: number) => `A whole number from 0 to ${number(largest)}.`,
    send: 'Send',
    sending: 'Handing it to all servers…',
    again: 'Your answer is kept on this device, but not all servers have it yet.',
    resend: 'Hand it in again',
    thanks: 'Your answer is in. All servers have signed that they hold it.',
    once: 'It cannot be changed. This device does not keep the number.',
    uninvited: 'This question is for people who got a link of their own.',
    wrong: (largest: number) => `Write a whole number from 0 to ${number(largest)}.`,
    count: (n: number, minimum: number) =>
      n < minimum
        ? `${several(n, 'answer', 'answers')}; ${minimum - n === 1 ? '1 more is' : `${number(minimum - n)} more are`} needed before anything is computed`
        : several(n, 'answer', 'answers'),
    close: 'Close, and compute the result',
    closeHint: 'Nobody can answer after that.',
    closing: 'Closing…',
    cancel: 'Take it back',
    cancelling: 'Taking it back…',
    cancelConfirm:
      'Take it back? Nothing will be computed, and the servers erase everything that was handed in. This cannot be undone.',
    cancelYes: 'Take it back for good',
    cancelled: (opened: string[]) =>
      `Whoever asked has taken this back. ${opened.length === 0 ? 'Nothing comes out' : `${spoken(opened)} had begun to open the result`}; what was handed in is erased.`,
    sealing: 'It is closed. The servers agree on which answers count…',
    computing: (n: number) =>
      `The servers compute on ${several(n, 'answer', 'answers')}. Each sees only parts that look random.`,
    stopped: (name: string, why: string) => `There will be no result. ${name} says: ${why}`,
    tooFew: (missing: number) =>
      `It closed with too few answers: ${number(missing)} more were needed. Nothing was computed, and nothing about the answers is known to anybody.`,
    away: 'No server answers at the moment. This page goes on trying.',
  },
  result: {
    title: 'Result',
    median: 'Median',
    quantile: (thousandths: number) => `About ${thousandths / 10} % lie below`,
    sum: 'Sum',
    mean: 'Mean',
    deviation: 'Standard deviation',
    circuit: (place: number) => `Value ${number(place)} of the formula`,
    distinct: 'Different things',
    about: (estimate: number) => `about ${number(estimate)}`,
    choice: 'Choice',
    top: 'What most chose',
    group: (n: number) => `Group ${n}`,
    groups: 'Group',
    sizes: 'Answers in each group',
    few: (names: string[]) => `Too few answers to tell anything of: ${spoken(names)}.`,
    quantiles: 'Where the answers lie',
    other: 'One of the results is shown by the program only: ostrakon stats result.',
    of: (n: number, out: number) =>
      `of ${several(n, 'answer', 'answers')}${out > 0 ? `; ${number(out)} did not count` : ''}`,
    spent: (epsilon: number) =>
      `All results so far, this one included, tell of each person at most as much as the measure ε = ${number(epsilon)} says: the smaller, the less.`,
    unbounded:
      'There is no bound on what all results so far tell of each person: an exact one, or one about lists of things, is among them.',
    budget: (epsilon: number) =>
      `The servers let it be ${number(epsilon)}, and refuse whatever would tell more.`,
    histogram: 'How many answered what',
    range: 'Range',
    answers: 'Answers',
    bin: (from: number, to: number | null) =>
      to === null ? `${number(from)} and more` : `${number(from)} to ${number(to - 1)}`,
    proved: (servers: string[]) => `Signed by ${spoken(servers)}; this page has checked it.`,
    save: 'Save the result with its proofs',
  },
  sees: {
    title: 'Who sees what?',
    text: 'On your device your number is made into parts, one for each server. Each part alone looks random, and so do all but one together. Servers see who has answered and when, not what; everybody with the link sees the keys of those who have answered, and who made the links knows whose they are.',
  },
  number,
};

export type Ask = typeof en;
