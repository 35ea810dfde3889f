// Taking part in a decision, and its result.

import { moment, several, span, spoken, zoned } from './words';

/** Until when the two visits are. */
export interface Visits {
  /** To accept, if that is still to be done. */
  accept: number | null;
  answer: number;
  /** It ends without a result if somebody has not accepted in time. */
  all: boolean;
}

const people = (n: number) => several(n, 'person', 'people');

export const en = {
  title: 'Decision',
  connecting: 'Comparing the servers’ keys with your link…',
  alone:
    'Only one server shows this decision, or all that this browser has seen of it, so far. As soon as a second one shows the same, it goes on here.',
  busy: 'other records kept coming first; load the page again, and it goes on',
  different: 'a server shows another history of this decision than the others do',

  verifying: {
    title: 'Checking everything that has happened so far',
    text: 'This device believes no server. It checks every signature and every proof itself.',
    progress: (done: number, all: number) => `${done} of ${several(all, 'record', 'records')}`,
  },

  refused: {
    title: 'Do not answer: something here is not right',
    text: (reason: string, sent: boolean) =>
      `What was found: ${reason}. ${sent ? 'Your answer may have left this device before.' : 'No answer was sent from this device.'} Tell the other people, by another way than this page, and ask whoever made the decision. The people who run the servers can see from the records who signed what.`,
    unknownTitle: 'No such decision',
    unknown: 'The servers know no decision of this name. Check that the whole link was copied.',
    failedTitle: 'The decision cannot be opened',
  },

  found: {
    decision: (n: number) => `record ${n} belongs to another decision, or to other servers`,
    signature: (n: number) =>
      `record ${n} is not signed by the author that it names: whoever showed it has changed it`,
    rule: (n: number) => `record ${n} is against the rules`,
    key: (n: number) =>
      `a key in record ${n} is not as it has to be: it could have been put together out of other people’s keys`,
    forked: (n: number) =>
      `record ${n} is another one than this device has seen before: different people are shown different histories`,
    step: (n: number, name: string) =>
      `the answer in record ${n}, which “${name}” signed, is wrong`,
    shorter: (shown: number, seen: number) =>
      `${several(shown, 'record is', 'records are')} shown, but this device has seen ${seen} before`,
    opening: (n: number) => `what server ${n} has opened is wrong`,
  },

  distrusted: {
    title: (server: string) => `The server “${server}” showed something that does not hold`,
    text: (reason: string) =>
      `What was found: ${reason}. It was not believed, and that server is not believed any more. What you see here, two others show alike. What it showed is kept below as evidence, if it was a record of its own. Tell the other people, and those who run the servers.`,
  },

  rules: {
    majority: (option: string) =>
      `It passes if more than half say “${option}”. Only whether it passes comes out.`,
    unanimous: (option: string) =>
      `It passes if everybody says “${option}”. Only whether it passes comes out.`,
    'at-least': (option: string, k: number) =>
      `It passes if at least ${k} say “${option}”. Only whether it passes comes out.`,
    veto: (option: string) =>
      `It passes if nobody says “${option}”. Only whether it passes comes out, not how many said it.`,
    parity: (option: string) => `Only whether an odd or an even number say “${option}” comes out.`,
    plurality: {
      first:
        'The answer that most gave wins; of equals, the one that stands first. Only the winner comes out.',
      none: 'The answer that most gave wins; of equals, none. Only the winner comes out.',
    },
    tally: 'How often each answer was given comes out. Who gave it does not.',
    custom:
      'A table says what comes out for every number of answers. Only that one value comes out.',
  },
  row: (parts: string[]) => spoken(parts),
  span,
  value: 'Value',
  table: 'The table',

  accept: {
    title: (name: string) => `${name}, you are asked to decide`,
    text: (until: number, all: boolean) =>
      `Two short visits: now you accept, later you answer. If you accept, this device makes a key for this decision; the servers are given shares of it only where they can stand in for you. You can answer as soon as all have accepted${all ? `; if somebody has not by ${moment(until)}, it ends without a result` : `, at the latest from ${moment(until)} on`}.`,
    remind: 'Put the second visit into the calendar',
    reminder: (question: string) => `Answer: ${question}`,
    button: 'Accept',
    doing: 'Making the key and handing out its shares…',
    spent:
      'This invitation was used before, on another device or in another browser. If that was not you, tell whoever made the decision.',
    reader: 'You are not one of those who decide. You see what everybody with this link can see.',
  },
  waiting: {
    title: 'You have accepted',
    text: (names: string[], all: boolean) =>
      `${spoken(names)} ${names.length === 1 ? 'has' : 'have'} not accepted yet. ${all ? 'When everybody has, you can answer here; if somebody has not in time, it ends without a result.' : 'When everybody has, or the time to accept is over, you can answer here.'} You may close this page and come back with the same link.`,
    anybody: (names: string[], all: boolean) =>
      `${spoken(names)} ${names.length === 1 ? 'has' : 'have'} not accepted yet. ${all ? 'Answers can be given when everybody has; if somebody has not in time, it ends without a result.' : 'Answers can be given when everybody has, or the time to accept is over.'}`,
  },

  deadline: (at: number) => `Until ${moment(at)}`,
  acceptBy: (at: number) => `Accept by ${moment(at)}`,
  ended: (at: number) => `Ended ${moment(at)}`,
  early: (at: number) => `Ended early, ${moment(at)}: all had answered`,
  quorum: (n: number) => `Nothing is opened unless at least ${n} answer.`,
  warnings: {
    'two-people':
      'Only two of you decide: by the result, each can often tell what the other has said.',
    'lone-answer':
      'A result of this table comes out only if exactly one person gives some answer: it finds a lone answer.',
  },
  people: {
    title: (n: number) => `${people(n)} decide`,
    you: 'you',
    asks: 'asks the question',
    invited: 'has not accepted yet',
    accepted: 'has accepted',
    answered: 'has answered',
    absent: 'stayed away',
    removed: 'was taken off the list',
    late: 'had not accepted in time',
    verified: 'has checked everything',
  },

  answer: {
    title: 'Your answer',
    asked: (ballots: number): string => (ballots > 1 ? 'What is asked' : 'The answers'),
    rule: 'How it is decided',
    learns: 'What others can learn',
    assumed: (option: string) => `Whoever stays away counts as “${option}”.`,
    stands: {
      0: 'Nobody can stand in for whoever stays away: then there is no result. In return, no server holds anything of your key.',
      2: 'If somebody stays away, any two of the three operators give the assumed answer after the deadline. Nothing but the result becomes known as long as one operator is honest.',
      all: 'All must answer: if somebody stays away, there is no result, although the three operators hold parts of everybody’s key.',
      3: 'If somebody stays away, all three operators together give the assumed answer after the deadline. Nothing but the result becomes known as long as one operator is honest.',
    },
    always:
      'Everybody sees the result, who has answered, and in which order. The result itself can tell answers: if everybody agreed, everybody knows what everybody said.',
    after: (names: string[]) =>
      names.length === 0
        ? 'Nobody comes after you.'
        : `After you ${names.length === 1 ? 'comes' : 'come'} ${spoken(names)}.`,
    residual: (after: number, results: number) =>
      after === 0
        ? 'So nothing more can be learned of your answer, not even if all others and all three operators conspire.'
        : `If ${after === 1 ? 'that person' : 'all of them'} and all three operators conspired, they could look at what the result would be for each of their own possible answers: ${several(results, 'result', 'results')} instead of one. If any one of them is honest, they cannot. Where everybody comes only once, nothing can prevent that.`,
    everything:
      'None of the people can learn more than that of your answer. All three operators together could: as they can stand in for whoever stays away, they could open every single answer, yours, too. Two of them cannot, as long as the third is honest. The first operator alone cannot close early or leave out whose answer another one holds; with somebody who is asked it may pass over a device that has gone. Such a device has no receipt, and with fewer answers than have to be there nothing is opened.',
    missing: (n: number) => `${several(n, 'answer is', 'answers are')} missing.`,
    all: 'All are possible',
    rest: 'The rest are not possible',
    left: (n: number) =>
      n === 0 ? 'All dates have an answer.' : `${several(n, 'date', 'dates')} left.`,
    go: 'Answer…',
    confirm: 'After this the answer cannot be changed any more, on this device or any other.',
    yes: 'Give this answer',
    doing:
      'Your answer is being sealed and sent. If somebody else was faster, it is made again by itself.',
    pending: 'Your answer is on its way. It goes on by itself, also when you come back later.',
  },
  answered: {
    title: 'You have answered',
    text: (missing: string[]) =>
      missing.length === 0
        ? 'Everybody has answered. The operators open the result.'
        : `Still to come: ${spoken(missing)}. The result will be here, under the same link.`,
    receipt: 'Your receipt',
    receiptHint:
      'It says that your answer is in the records, and where, but not what it is. Once two servers have signed it, it proves to others that these servers had it; before that it proves nothing.',
    signed: (n: number) =>
      n === 0
        ? 'No server has signed it yet. Keep this page open.'
        : n === 1
          ? 'One server has signed it. Keep this page open until two have.'
          : `Signed by ${n} servers.`,
    number: (n: number) => `Record ${n}`,
    digest: 'Digest of the record',
    save: 'Save the receipt',
  },

  progress: (answered: number, all: number) => `${answered} of ${people(all)} have answered.`,
  opening:
    'No more answers are taken: all are in, or every server says that the deadline has passed. The three operators check everything and open the result. One of them could look at what the others have opened, and then refuse.',
  unresolved:
    'There is no result, although all three operators have opened their parts: too few of them could stand in for somebody who stayed away, or a part is wrong.',
  unopened: (server: string) =>
    `The server “${server}” does not open it, and says why. Tell the people who run the servers.`,
  lapsed: {
    few: (answered: number, quorum: number) =>
      `There is no result: ${people(answered)} answered, and ${quorum} had to. Nothing of the answers was revealed.`,
    accepted: (names: string[]) =>
      `There is no result: ${spoken(names)} did not accept in time, and it does not go on without them. Nothing of the answers was revealed.`,
    absent: (names: string[]) =>
      `There is no result: ${spoken(names)} stayed away, and nobody can stand in. Nothing of the answers was revealed.`,
  },
  removed:
    'Whoever made this decision has taken you off its list. It goes on without your answer. If that is a mistake, ask for a new decision.',
  late: 'You had not accepted in time, and it went on without you. If that matters, ask for a new decision.',
  cancelled: 'Whoever made this decision has called it off. Nothing of the answers was revealed.',

  result: {
    title: 'The result',
    passed: 'Passed',
    failed: 'Not passed',
    odd: (option: string) => `An odd number said “${option}”`,
    even: (option: string) => `An even number said “${option}”`,
    option: (option: string) => `“${option}” wins`,
    tie: 'No answer wins: several were given equally often',
    value: (value: number) => `The table says ${value}`,
    counts: 'How often each answer was given',
    answer: 'Answer',
    votes: 'Votes',
    chosen: (equals: number, at: string) =>
      equals === 1
        ? `${at} suits best`
        : `${equals} dates suit equally well; the earliest is ${at}`,
    earliest: (dates: number, at: string) =>
      dates === 1 ? `One date suits: ${at}` : `${dates} dates suit; the earliest is ${at}`,
    none: 'No date suits',
    absent: (names: string[]) =>
      `${spoken(names)} stayed away. The assumed answer counted instead.`,
    late: (names: string[]) =>
      `${spoken(names)} had not accepted in time: it went on without ${names.length === 1 ? 'that person' : 'them'}, and nothing counted instead.`,
    nobody: 'Nobody stayed away.',
    verified: (n: number) =>
      n === 0
        ? 'Nobody has rechecked it yet.'
        : `${people(n)} ${n === 1 ? 'has' : 'have'} rechecked everything.`,
    recheck: 'Check everything again',
    rechecking: 'Checking everything again…',
    fine: 'Everything holds: every signature, every proof, and the result.',
    archive: 'Save the records',
    archiveHint:
      'Whoever has the file can check the result without any server: on the page “Decide”, or with ostrakon decide verify FILE.',
    calendar: 'Put it into the calendar',
    minutes: 'Length in minutes',
  },

  creator: {
    title: 'You made this decision',
    text: 'Give everybody their own link. It is spent as soon as it is used once.',
    without: (names: string[], at: number) =>
      `On ${moment(at)} it goes on without ${spoken(names)}: remind them, or take them off the list to begin earlier.`,
    ends: (names: string[], at: number) =>
      `On ${moment(at)} it ends without a result if somebody has not accepted by then (${spoken(names)}): remind them, or take them off the list.`,
    silent: 'Not answered yet',
    remind:
      'You can remind them. The same link leads each of them back, in the browser in which it was accepted.',
    elsewhere:
      'The invitations are not in this browser: only the one that made the decision can show or send them.',
    link: (name: string) => `Link for ${name}`,
    qr: (name: string) => `QR code for ${name}`,
    showQr: 'QR code',
    all: 'Copy all links',
    copied: 'Copied',
    remove: 'Take off the list…',
    removeText: (name: string) => `Take ${name} off the list? The others decide without ${name}.`,
    removeYes: 'Take off the list',
    cancel: 'Call the decision off…',
    cancelText:
      'Call the decision off? There will be no result, and what was answered stays secret for ever.',
    cancelYes: 'Call it off',
    working: 'Signing and sending…',
  },
  archive: {
    title: 'Check the saved records of a decision',
    text: 'Whoever has the file can see here what came out, and that every signature and every proof in it holds. No server is asked, and the file does not leave this device.',
    choose: 'Choose the file…',
    checking: 'Checking every signature and every proof…',
    holds: (records: number) =>
      `Everything holds: ${several(records, 'record', 'records')}, every signature, and every proof.`,
    open: 'The result is not in these records: they were saved before the three operators had opened it.',
    servers:
      'That it was these servers, only a comparison tells: this must be the second of the long parts of the decision’s link.',
    digest: 'Fingerprint of the servers',
    version: (format: string) =>
      `These records were saved by another version (${format}), and this page does not read them. That does not mean that they were changed. Open them with the version that saved them, or save them again.`,
    refused:
      'Do not believe this file: it is no decision’s records, or it was changed after it was saved.',
  },
  mail: {
    none: 'No server here sends e-mail. Copy each link, and send it yourself.',
    hint: 'The links can be sent by e-mail. The server that sends a link reads it, mail servers on the way can, too, and whoever uses it first takes the place: hand it over yourself if that must not be. The server uses an address for the one message and does not keep it; this browser does.',
    language: 'Language of the messages',
    all: (n: number) => `Send ${several(n, 'link', 'links')} by e-mail`,
    address: (name: string) => `E-mail address of ${name}`,
    send: 'Send the link',
    again: 'Send it again',
    sending: 'Sending…',
    sent: (times: number, left: number) =>
      `Sent${times === 1 ? '' : ` ${times} times`}: the mail server has taken it. ${left === 0 ? 'No more can be sent to this person from here.' : `It can be sent ${several(left, 'more time', 'more times')}.`}`,
    failed: {
      address:
        'Not sent: the server takes this for no e-mail address. Correct it, and send it again.',
      over: 'Not sent: this person was sent as many messages as may be, or need not be asked any more. Send the link yourself.',
      none: 'Not sent: this server sends no e-mail any more. Send the link yourself.',
      busy: 'Not sent: too much is being sent at this moment. Try again in a minute.',
      untaken:
        'Not sent: the mail server does not take the message. Check the address, or send the link yourself.',
      away: 'The server did not answer, or this device has no network. The message may have been sent all the same; ask before you send it again.',
      refused:
        'Not sent: the server refuses. Only the account that made the decision can have its links sent; otherwise tell the people who run the server.',
    },
    own: 'Write it yourself',
    subject: 'Your answer, please',
    body: (name: string, link: string, visits: Visits) =>
      visits.accept === null
        ? `Hello ${name},\n\nyou have accepted already: what is missing is the second short visit, your answer. Please give it by ${zoned(visits.answer)}, in the browser in which you have accepted:\n\n${link}\n`
        : `Hello ${name},\n\nplease come by twice, shortly: accept by ${zoned(visits.accept)}; then answer, as soon as all have accepted${visits.all ? '' : ' or the time for it is over'}, by ${zoned(visits.answer)}. ${visits.all ? 'If somebody has not accepted in time, it ends without a result. ' : ''}The link is for you alone:\n\n${link}\n`,
  },
  failed: (reason: string) => `That was not done: ${reason}.`,

  account: {
    spoilt: 'this browser’s account cannot be read; import the file that you saved of it',
    noFile: 'this is no file with an account',
  },
};

export type Decision = typeof en;
