// The host's page.

import { clock, duration, moment, several, spoken } from './words';

const messages = (n: number) => several(n, 'message', 'messages');
const members = (n: number) => several(n, 'member', 'members');
/** A day as the servers count them. */
const serversDay = (at: number) =>
  new Date(at).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

export const en = {
  connecting: 'Comparing the servers’ keys with your link…',
  title: 'Host',
  notHost:
    'This link’s key is not a host of this room, or not any more. You can look, and nothing more.',
  coHost: (name: string) => `You are co-host as “${name}”.`,
  closed: 'The room is closed. It takes no more messages; you can still tidy up its wall.',
  failed: (reason: string) => `That was not done: ${reason}.`,
  dismiss: 'Close this notice',
  working: 'Signing and sending…',

  leave: {
    prompt: (invitations: number, coHosts: number) =>
      `Leave this page? ${[...(invitations > 0 ? [several(invitations, 'invitation link', 'invitation links')] : []), ...(coHosts > 0 ? [several(coHosts, 'co-host link', 'co-host links')] : [])].join(' and ')} ${invitations + coHosts === 1 ? 'is' : 'are'} on this page and nowhere else. What you have not printed, saved or passed on is lost.`,
    now: 'Leave and lose them',
  },

  retention: {
    erases: (days: number) => `What is said is erased after ${several(days, 'day', 'days')}`,
    keeps: 'What is said stays as long as the servers run',
    next: (upTo: number, at: number) =>
      `Next, by ${moment(at)}, the servers erase what was published on ${serversDay(upTo)} or before.`,
    fresh: (at: number) =>
      `What is published now is erased by ${moment(at)}. Days are counted in UTC, and each text stays that many whole days at least.`,
    stays:
      'Fingerprints and signatures stay, so that the record can be checked. Whoever could read a text may have copied it; what you want to keep you can take home, under “Room”.',
  },

  tabs: {
    label: 'Parts of the host’s page',
    messages: 'Messages',
    polls: 'Polls',
    share: 'Share',
    people: 'People',
    room: 'Room',
  },

  now: {
    label: 'The room at this moment',
    present: (n: number) => several(n, 'person takes part', 'people take part'),
    epoch: (n: number) => `Epoch ${n}`,
    seals: (seconds: number) => `sealed in ${duration(seconds)}`,
    sealing: 'being sealed',
    company: 'waits for what people hand in',
    overdue: (names: string[]) =>
      names.length === 0 ? 'waits for earlier epochs' : `waits for the word of ${spoken(names)}`,
    overdueHint: (names: string[], { since, opening }: { since: number; opening: boolean }) =>
      names.length === 0
        ? `It could have been sealed at ${clock(since)}, but earlier ones are still being shuffled. Nothing is lost.`
        : `It could have ${opening ? 'begun' : 'been sealed'} at ${clock(since)}; the word of ${spoken(names)} is missing. Nothing is lost, and nothing you do here helps: ask whoever runs ${spoken(names)} to look. What keeps it back can be there, on the way there, or at a server that is waited for there in turn.`,
    waits: (here: number, expected: number | null, missing: number) =>
      `${here}${expected === null ? '' : ` of about ${expected}`} ${here === 1 ? 'is' : 'are'} here; ${missing} more, then messages appear`,
    practice: 'For practice, without a crowd',
    stock: 'waits for the servers to prepare masks',
    unknown: 'no server answers',
    away: (names: string[]) => `${spoken(names)} ${names.length === 1 ? 'does' : 'do'} not answer`,
    projector: 'Open the projector view',
  },

  list: {
    title: 'Messages',
    show: 'Show',
    filter: {
      all: 'All',
      new: 'New',
      unanswered: 'Unanswered',
      answered: 'Answered',
      pinned: 'Pinned',
      hidden: 'Hidden',
    },
    group: 'Group',
    everyGroup: 'All groups',
    search: 'Search',
    order: 'Order',
    orders: { newest: 'Newest first', oldest: 'Oldest first', votes: 'Most votes first' },
    empty:
      'Nothing has been published yet. Share the room, and messages appear here epoch by epoch.',
    none: 'No message is like that.',
    more: 'Show more messages',
    announce: (n: number) => `${several(n, 'new message', 'new messages')}`,
    keys: 'Keys',
    keysHint:
      'In the list: ↑ and ↓ go from message to message. A answered, P pin, H hide, V approve, S show alone, G group.',
    among: (epoch: number, n: number) => `Epoch ${epoch}, shuffled among ${n}`,
    erased: 'Erased. Its fingerprint stays in the record.',
    answer: 'Answered',
    pin: 'Pin',
    hide: 'Hide',
    alone: 'Show alone',
    approve: 'Approve',
    regroup: 'Group…',
    erase: 'Erase…',
    actions: 'What to do with this message',
    hidden: 'hidden',
    hiddenHint: (n: number) =>
      `${several(n, 'message is', 'messages are')} hidden. Everybody sees that number, nobody the texts.`,
    waiting: (n: number) =>
      `${messages(n)} not approved: the projector does not show ${n === 1 ? 'it' : 'them'}.`,
    groupPrompt: 'Name of the group',
    groupSave: 'Put into the group',
    groupNone: 'Take out of its group',
    cancel: 'Cancel',
    erasePrompt:
      'Erase this message? The servers delete its text for ever. That something was erased stays visible to all. To take it off the walls only, hide it.',
    eraseNow: 'Erase for ever',
  },

  polls: {
    title: 'Polls',
    intro:
      'Answers travel as anonymous messages of one sealed epoch. Each participant has one place in it, so nobody votes twice, and nobody sees who voted, or whether.',
    ask: 'Ask a question',
    question: 'Question',
    kind: 'Kind of answer',
    one: 'One answer',
    several: 'Several answers',
    rating: 'A mark from 1 up',
    text: 'A few words',
    options: 'Possible answers',
    option: (n: number) => `Answer ${n}`,
    addOption: 'Add an answer',
    dropOption: (n: number) => `Remove answer ${n}`,
    ranking: 'An order',
    complaints: {
      question: 'There is no question yet.',
      long: 'The question is too long: 500 bytes at most, and a letter with an accent takes two.',
      options: 'Give at least two possible answers.',
      same: 'Two answers are the same.',
      longOption: 'One of the answers is too long: 200 bytes at most.',
      epoch: 'No server answers: a question can be asked as soon as one does.',
    },
    highest: 'Highest mark',
    time: 'Time to answer',
    timeLabel: (seconds: number) => `about ${duration(seconds)}`,
    timeWaits: (missing: number) =>
      `The time runs only when enough are here: ${several(missing, 'person is', 'people are')} missing.`,
    timeStands: 'The time does not run: the room waits for a server, as is said above.',
    timeHint: (epoch: number, at: number | null) =>
      `Sealed in epoch ${epoch}${at === null ? '' : `, about ${clock(at)}`}. Until then devices keep the answers and people can change them.`,
    noEpoch: 'No server answers: a question can be asked as soon as one does.',
    send: 'Ask',
    sent: 'Asked. It is on everybody’s screen now.',
    none: 'You have not asked anything yet.',
    withdraw: 'Withdraw',
    withdrawPrompt:
      'Withdraw this poll? Its answers do not count any more, and the projector stops showing it.',
    withdrawNow: 'Withdraw it',
    again: 'Ask again',
    againHint:
      'Ask again: devices on which the page is still open give the same answer by themselves, unless it is changed.',
    openVote: 'In an open room somebody with several devices can vote several times.',
  },

  round: {
    open: 'Vote on these…',
    usual: 'Which should come next?',
    about: (n: number) => `Let people vote on ${messages(n)}?`,
    hint: 'Those of the list as it stands, without hidden and answered ones, 100 at most. All ballots are sealed in one epoch: nobody counts twice. A later round starts anew; its votes take the place of these.',
    start: 'Start the vote',
    started: (n: number) => `The vote on ${messages(n)} is open.`,
    few: 'A vote takes two messages that are neither hidden nor answered.',
  },

  quiz: {
    reveal: 'Show the right answer…',
    correct: 'Change the right answer…',
    one: 'Which answer is right?',
    several: 'Which answers are right?',
    show: 'Show it to all',
    hint: 'Each device tells its own user whether the answer was right. Nobody else learns it, so there are no scores of persons.',
  },

  prepared: {
    title: 'Prepared questions',
    hint: 'They are on this device only, until you ask them.',
    keep: 'Keep for later',
    ask: 'Ask now',
    edit: 'Change',
    changing:
      'You are changing this one, above. It stays here as it is until you keep it or ask it.',
    leave: 'Leave it as it was',
    up: 'Earlier',
    down: 'Later',
    drop: 'Remove',
    moved: (place: number) => `Now in place ${place}.`,
    save: 'Save as a file',
    load: 'Add from a file',
    loaded: (n: number) => `${several(n, 'question', 'questions')} added.`,
    failed: (reason: string) => `Nothing was added: ${reason}.`,
  },

  share: {
    title: 'Share the room',
    link: 'Link to the room',
    linkHint:
      'It carries a fingerprint of the servers’ keys: whoever follows it accepts no other servers.',
    code: 'Short code',
    codeHint: (origin: string) =>
      `To be typed at ${origin}. Whoever types it trusts this one server to name the others; the link and the QR code do not.`,
    qr: 'QR code with the link to the room',
    projector: 'Projector view',
    projectorHint: 'For a beamer: wall, polls and how to join. There is nothing secret on it.',
    copy: 'Copy',
    copied: 'Copied',
    show: 'Show',
    conceal: 'Conceal',
    members:
      'This room is for members. The link lets others read the wall, but not take part: give each person an invitation, under “People”.',
  },

  people: {
    title: 'People',
    open: 'The room is open: whoever has the link takes part. There is nobody to admit.',
    count: (n: number, open: number) =>
      open === 0
        ? members(n)
        : `${members(n)}, and ${several(open, 'invitation', 'invitations')} not used yet`,
    invite: 'Make invitation links',
    inviteHint:
      'One link is one person: one place in an epoch, one vote. The first device that takes part with it makes a key of its own, and the link is used up. Print the links, mix the sheets and let people draw, so that nobody knows whose is whose.',
    number: 'How many',
    make: 'Make links',
    making: 'Making the links…',
    made: (n: number) =>
      `${several(n, 'link is', 'links are')} ready. They are nowhere else: print or save them before you leave this page.`,
    print: 'Print a sheet for each',
    save: 'Save as a list',
    copy: 'Copy all',
    forget: 'Remove the links from this page',
    sheet:
      'Scan it, or type the address, on the device on which you want to write. It is for you alone, and good for one device: one person, one voice.',
    invitation: (number: number) => `Invitation ${number}`,
    used: 'used',
    unused: 'not used yet',
    trust:
      'Whoever uses a link first takes its place; you see below which are used. You cannot read or say anything in the name of those who have used theirs. Somebody whose link was used by another gets a new one from you: dismiss the old one.',
    list: 'Admit keys from a list',
    listHint: 'People find their key on the room’s page. One key on each line, 64 characters.',
    admit: 'Admit',
    admitted: (n: number) => `${several(n, 'key', 'keys')} admitted.`,
    wrong: (lines: number[]) =>
      `No key: ${lines.length === 1 ? 'line' : 'lines'} ${spoken(lines.map(String))}. A key has 64 digits from 0 to 9 and a to f.`,
    nothing: 'All of these are admitted already.',
    members: 'Invitations and admitted keys',
    from: 'They count from the next epoch on.',
    dismiss: 'Dismiss',
    dismissOne: (name: string) => `Dismiss ${name}`,
    dismissPrompt:
      'Dismiss this member? From the next epoch on it takes no part, and an invitation cannot be used any more. What was said stays.',
    more: 'Show more',

    hosts: 'Co-hosts',
    hostsHint:
      'A co-host can do what you can, except naming co-hosts. Everything is signed with each one’s own key.',
    you: 'you',
    first: 'First host',
    hostName: 'Name of the co-host',
    addHost: 'Make a co-host link',
    hostLink: (name: string) => `Link for ${name}`,
    hostLinkHint:
      'It is on this page only, until you leave it. Give it to this person only, by a way that others do not read.',
    passedOn: 'It is passed on: take it off this page',
    removed: 'may not act any more',
    removeHost: (name: string) => `Remove ${name}`,
    remove: 'Remove',
    removePrompt: (name: string) => `Remove ${name}? What ${name} did stays done.`,
    onlyFirst: 'Only the first host names co-hosts.',
  },

  crowd: {
    title: 'How many are enough',
    now: (enough: number) => `Messages appear from ${several(enough, 'person', 'people')} on.`,
    lowered: (before: number) => `It was ${before} when the room was opened.`,
    practice: 'This room is for practice: what a single person says is published, too.',
    hint: 'You can lower the number, not raise it again. Everybody is told, and whoever joined before speaks again only after agreeing.',
    lower: (enough: number) => `Lower to ${enough}`,
    prompt: (enough: number) =>
      `Let messages appear from ${several(enough, 'person', 'people')} on?${enough < 3 ? ' That hides nobody: of two people each knows what the other has said, and the servers may, too.' : ''} The epoch that waits begins anew, and a question that is open in it has to be asked again. It cannot be raised again.`,
    yes: (enough: number) => `From ${enough} on`,
  },

  room: {
    moderation: 'Moderation',
    moderated: 'The projector shows approved messages only',
    moderatedHint:
      'The room’s own page shows all messages that are not hidden: what the servers have published is public. Answers in words to polls are then counted on the projector, not shown.',
    recovery: 'Your key',
    recoveryHint:
      'This link is your key. On another device, open it there. If you lose it, nobody can replace it: keep it where you keep passwords, or make a co-host link for a second device of yours.',
    hostLink: 'Host link',
    download: 'Save as a file',
    file: (name: string, link: string) =>
      `Host link of “${name}”. Whoever has it is host of the room.\r\n\r\n${link}\r\n`,
    export: 'Take it home',
    exportHint:
      'Tables for a spreadsheet, one file for programs, a report to print, and the record with all signatures, which anybody can check.',
    unread: 'As soon as the whole wall is read.',
    csvMessages: 'Messages (CSV)',
    csvPolls: 'Polls (CSV)',
    json: 'Everything (JSON)',
    record: 'Signed record',
    print: 'Print the report',
    end: 'Close or delete',
    closeHint:
      'Closing ends the room: no more messages, no more polls. The wall stays. It cannot be opened again.',
    close: 'Close the room…',
    closePrompt: 'Close the room for ever? Messages that were not published yet are lost.',
    closeNow: 'Close the room',
    deleteHint:
      'Deleting closes the room and makes the servers erase all texts. Fingerprints and signatures stay, so that nobody can claim other texts later. What people copied meanwhile is beyond your reach.',
    delete: 'Delete everything…',
    deletePrompt: 'Delete everything that was said in this room? It cannot be undone.',
    deleteNow: 'Delete everything',
  },

  report: {
    title: 'Report',
    made: (at: string) => `Made on ${at}`,
    people: (most: number) => `Up to ${several(most, 'participant', 'participants')} in one epoch`,
    said: (n: number, epochs: number) => `${messages(n)} in ${several(epochs, 'epoch', 'epochs')}`,
    hidden: (n: number) =>
      `${several(n, 'message was', 'messages were')} hidden by the hosts and ${n === 1 ? 'is' : 'are'} not printed here.`,
    erased: (n: number) => `${several(n, 'message was', 'messages were')} erased.`,
    polls: 'Polls',
    questions: 'Messages',
    ungrouped: 'Without a group',
    answered: 'answered',
    pinned: 'pinned',
    verify: 'How to check this report',
    steps: [
      'Open the link below. The page reads the wall from the servers and checks every signature; it shows the same digest.',
      'Or on the command line: fetch the signed record with “ostrakon export LINK -o board.json” and check it, without a network, with “ostrakon verify board.json --link LINK”.',
      'The digest that either of them names is the one printed here if, and only if, the wall is the same.',
    ],
    link: 'Link',
    board: 'Digest of the wall',
    actions: (n: number) => `Digest of ${several(n, 'host action', 'host actions')}`,
    uncounted: 'Not counted yet.',
    tally: 'Answers were counted by this device, from the signed wall.',
  },
};

export type Host = typeof en;
