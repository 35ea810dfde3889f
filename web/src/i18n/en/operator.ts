// The operator's page.

import { duration, several } from './words';

export const en = {
  title: 'Your server',

  token: {
    lead: 'For the operator of this server. What is shown here are levels and counts; nobody who takes part can be told from another.',
    label: 'Administrator token',
    hint: 'It is in the file that the configuration names as admin_token_file. It stays in this tab and goes to this server only.',
    member:
      'It is in the file operator.token in the directory of the member. It stays in this tab and goes to this server only.',
    mixer:
      'It is in the file operator.token in the directory of the server. It stays in this tab and goes to this server only.',
    open: 'Show my server',
    forget: 'Forget the token',
    wrong: 'This is not the token of this server.',
    many: 'Too many wrong tokens came from your address. Wait a moment.',
  },

  mixing: {
    stands: {
      founding: 'The servers make their common key. All of them must be there for it, once.',
      asking: 'The server asks the others how they stand, and takes part as soon as enough answer.',
      'data-lost':
        'The data here are older than what others have heard of this server, so it is silent. Start it once with --restored.',
      runs: 'The server takes part.',
    },
    servers: 'Servers',
    own: 'this server',
    states: { fine: 'connected', away: 'no connection' },
    behind: (steps: number | null) =>
      steps === null ? 'has just come' : `catching up, ${several(steps, 'step', 'steps')} behind`,
    behindHint:
      'As this server sees the others. How far one is, it says itself; steps are those of the common order.',
    lacking:
      'It has not shown its part of the last preparation that was spoilt. That proves nothing: ask its operator first.',
    rounds: 'Rounds',
    end: (may: number, spare: boolean) =>
      spare
        ? `More are being prepared, also if ${may === 1 ? 'one server is' : `${may} servers are`} away or caught lying; with more it ends.`
        : 'More are being prepared, as long as all servers are there: with one away no more come until it is back, with one caught lying none ever.',
    remedy: (servers: number) =>
      `What helps: whoever runs the server that is away starts it with its data, or once with --restored if they are lost. Where one may be away for long, found the next room with ${servers + 1} servers.`,
    prepared: 'Prepared',
    open: 'Open now',
    none: 'none',
    collecting: (round: number, places: number, rows: number) =>
      `round ${round}: ${several(places, 'place', 'places')} taken, ${rows} handed in`,
    mixed: 'Being mixed',
    entries: 'On the board',
    spoilt: 'Spoilt one after another',
    machine: 'Memory and disk',
    memory: 'Memory of the process',
    kept: 'of it, kept for others',
    journal: 'Journal',
    commits: 'Steps of the order',
    room: (name: string) => `To the room “${name}”`,
  },

  computations: {
    title: 'Computations',
    hint: 'Triples are prepared for each computation after its close, so there is no stock. Rounds are those that are written down while it is computed.',
    none: 'Nothing is asked.',
    member: (name: string, number: number, members: number) =>
      `${name}, number ${number} of ${members} in the committee`,
    missing: (names: string[]) => `No connection with: ${names.join(', ')}.`,
    asked: 'Asked',
    job: 'Job',
    phase: 'State',
    inputs: 'Handed in',
    minimum: 'At least',
    begun: 'Begun',
    rounds: 'Rounds',
    phases: {
      collecting: 'open',
      sealing: 'closed; the members agree on the list',
      computing: 'computing',
      done: 'done',
      'too-few': 'too few',
      stopped: 'stopped',
    },
  },

  refreshed: (time: string) => `As of ${time}`,
  failed: (reason: string) => `That was not done: ${reason}.`,
  stale: (reason: string) => `No news from the server: ${reason}`,
  never: 'unknown',
  refresh: 'Refresh',

  state: {
    title: 'State',
    ready: 'The server does its work.',
    waiting: 'The server cannot do its work now.',
    version: 'Release',
    protocol: (version: number) => `servers’ protocol ${version}`,
    since: 'Running for',
    duration,
    certificate: 'Certificate',
    proxy: 'kept by a proxy, or not known',
    expires: (date: string) => `expires on ${date}`,
    disk: 'Disk',
    free: (free: string, total: string) => `${free} free of ${total}`,
    stock: (used: string, most: string) => `the stock has ${used} of at most ${most}`,
    queues: 'Queues',
    queue: (tenths: number) => (tenths === 0 ? 'empty' : `up to ${tenths * 10} % full`),
    intake: 'to the disk',
    announcements: 'to the other servers',
  },

  warnings: {
    title: 'Needs attention',
    none: 'Nothing needs your attention.',
    unreachable: (name: string) => `${name} cannot be reached`,
    'other-version': (name: string) => `${name} runs another release`,
    'clock-off': (name: string) => `The clocks of ${name} and of this server differ`,
    'disk-low': () => 'The disk is nearly full',
    'certificate-expiring': (name: string) => `The certificate of ${name} expires soon, or has`,
    'stock-empty': () => 'An open room waits for masks',
    'epoch-overdue': (name: string) => `A room stands still; to be looked at first: ${name}`,
    'repeated-aborts': (name: string) => `Epochs stop again and again, perhaps because of ${name}`,
    own: 'this server',
  },

  peers: {
    title: 'Other servers',
    name: 'Server',
    reach: 'Connection',
    direct: 'direct',
    relayed: 'by way of the third',
    none: 'none',
    silent: (seconds: number) => `silent for ${duration(seconds)}`,
    clock: 'Clock',
    even: 'the same',
    ahead: (seconds: number) => `${seconds} s ahead`,
    behind: (seconds: number) => `${seconds} s behind`,
    bound: (seconds: number) => `A clock may be ${seconds} seconds off before you are warned.`,
    key: 'Key',
  },

  stock: {
    title: 'Stock',
    lead: 'Masks are prepared ahead in batches; every epoch uses up one.',
    plot: (most: number) => `Batches ready for use during the last day; at most ${most}`,
    numbers: 'The same in numbers',
    time: 'From',
    fewest: 'Fewest ready',
    shape: 'Tables',
    rows: (rows: number, width: number, engine: string) =>
      `${rows} rows of ${several(width, 'byte', 'bytes')} (${engine})`,
    usable: 'Ready',
    preparing: 'Being prepared',
    needed: 'An open room needs them',
    yes: 'yes',
    no: 'no',
    early: 'The plot begins when there are two samples, ten seconds apart.',
  },

  epochs: {
    title: 'Epochs',
    lead: 'The last ones since the server started, the newest first. Times are rounded to a tenth of a second and known per epoch only.',
    none: 'No epoch has ended since the server started.',
    room: 'Room',
    number: 'Epoch',
    outcome: 'Outcome',
    published: 'published',
    'too-few': 'too few took part',
    cheated: 'a server cheated',
    failed: 'given up',
    'may-have-opened': 'given up, may have been read',
    size: 'Handed in',
    of: (accepted: string, slots: string) => `${accepted} of ${slots}`,
    time: 'Seconds',
    phases: { collect: 'collecting', mix: 'mixing', sign: 'agreeing' },
    more: 'Show more',
  },

  reading: 'Being read…',
  unread: (why: string) => `Not read yet, and tried again: ${why}`,
  faults: {
    title: 'Faults',
    lead: 'What misbehaving servers signed. Anybody can judge a file: ostrakon fault verify FILE --servers DIGEST',
    none: 'No server was ever caught misbehaving.',
    seen: 'Seen',
    who: 'Server',
    what: 'What it did',
    finding: 'Finding',
    proved: 'proved: no honest server signs this',
    signed: 'signed; that it broke a rule follows from what was announced before',
    unproven: 'not proved',
    download: 'Download the evidence',
  },

  rooms: {
    title: 'Rooms',
    none: 'There are no rooms.',
    name: 'Room',
    state: 'State',
    open: 'open',
    closed: 'closed',
    present: 'Here now',
    entries: 'Entries',
    settings: 'Settings',
    describe: (capacity: number, seconds: number, minimum: number) =>
      `${several(capacity, 'place', 'places')}, epochs of ${duration(seconds)}, minimum ${minimum}`,
    close: 'Close',
    sure: 'Really close?',
    keep: 'Keep open',
    hint: 'A closed room takes nothing more, for good. Its wall remains.',
    delete: 'Delete from this server…',
    deletePrompt: (name: string) =>
      `Delete “${name}” from this server, for good? This cannot be undone.`,
    deleteText: [
      'The room is closed at all three servers. On this one its links lead nowhere from then on, and all messages are erased from the disk at once.',
      'Its name, what its hosts did, and the digests of its board stay, because the servers must agree on them.',
      'The two other operators decide for their own servers: only if they delete it, too, is it gone everywhere. Should this server lose its data and get it from the others again, delete the room again.',
    ],
    deleteNow: 'Delete from this server',
    deleted: (name: string) => `“${name}” is deleted from this server.`,
  },

  audit: {
    title: 'Audit log',
    lead: 'What operators and hosts did at this server, the newest first. What participants do is never written down.',
    none: 'Nothing has been recorded.',
    when: 'When',
    who: 'Who',
    what: 'What',
    detail: 'Detail',
    older: 'Show older records',
  },

  log: {
    title: 'Log level',
    label: 'What is logged, until the server is started again',
    hint: 'A level, or levels by part: info,ostrakon_net=debug. The log never holds addresses or times of submissions.',
    set: 'Change',
    done: (filter: string) => `The server logs ${filter} now.`,
  },
};

export type Operator = typeof en;
