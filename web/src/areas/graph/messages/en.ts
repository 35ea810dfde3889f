// Graphs that several people know a part of each.

import { several, spoken } from '../../../i18n/en/words';

const number = (n: number) => n.toLocaleString('en');
const megabytes = (bytes: number) =>
  (bytes / 1e6).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export const en = {
  instead: 'Files of connections instead, of which nobody sees one',
  ask: {
    title: 'Compute on connections nobody sees',
    lead: 'Several people each know connections: who pays whom, who met whom. Three servers compute on all of them together, and only what you ask for comes out.',
    question: 'What is it about?',
    questionHint: 'For example: “Who paid whom, first quarter”. Everybody who contributes sees it.',
    vertices: 'What is connected?',
    called: {
      names: ['People or things with names', 'Everybody who contributes sees the list.'],
      numbers: ['Numbers from 0', 'If you all number them alike.'],
    },
    names: 'Their names, one on each line',
    namesHint:
      'Only these names can be in the files. If the list is very long, everybody who contributes needs it as a file.',
    namesNeeded:
      'The list of names is long: give it to everybody who contributes, as a file with one name on each line, in the same order.',
    count: 'How many are there?',
    what: 'What is computed?',
    program: {
      distances: ['Distances', 'How many connections each is away from where you start.'],
      reach: [
        'Who is near',
        'Which are at most so many connections away. Tells less than distances.',
      ],
      shortest: [
        'Shortest ways',
        'How long the way to each is; a third field on a line says how long a connection is.',
      ],
      components: ['Groups', 'Who hangs together, over any number of others.'],
      edges: ['How many connections', 'One number for all together.'],
      'in-degrees': ['Incoming connections', 'How many lead to each.'],
      'out-degrees': ['Outgoing connections', 'How many lead away from each.'],
      katz: ['Centrality', 'Paths to each, of which longer ones count less (Katz).'],
      pagerank: ['Rank', 'Connected from what is itself ranked high (PageRank).'],
    },
    from: 'Start from',
    fromHint: 'One name, or several with commas between. Everybody with the link sees it.',
    hops: 'How many connections far at most?',
    shownTitle: 'What comes out?',
    shown: {
      counts: ['How many have which value', 'Not which ones. Tells the least.'],
      vertices: ['The value of each', 'Can tell contributors much about each other.'],
      'at-least': ['The values from a number on', 'Of the others only that they have less.'],
      top: ['The first ones', 'So many with the highest values, and of the others nothing.'],
    },
    noisy: 'Add noise, so that nobody can tell whether any one connection is there.',
    threshold: 'From which number on?',
    first: 'How many of the first?',
    acrossHint: 'Groups in which two are further apart than that may fall apart.',
    longest: 'How long is the longest connection?',
    longestHint: 'Lengths are whole numbers from 1 on. With longer ones everybody sends more.',
    readerTitle: 'Who can read it?',
    reader: {
      me: [
        'Only I, in this browser',
        'The servers compute it without being able to read it. If this browser forgets its data, nobody can.',
      ],
      all: ['Everybody with the link', 'Contributors, too.'],
    },
    entryTitle: 'Who may contribute?',
    entry: {
      invited: ['Whoever has a link of their own', 'You make one link for each.'],
      anyone: [
        'Whoever has the link',
        'Nobody can tell one person who contributes twice from two people.',
      ],
    },
    minimum: 'Fewest contributions',
    minimumHint: 'With fewer, nothing is computed.',
    edges: 'Most connections of one contributor',
    edgesHint: 'Everybody sends as much as for so many, so nobody’s number is seen.',
    afterTitle: 'What becomes of the contributions?',
    after: {
      erased: ['They are erased', 'By all servers, when the result is there.'],
      kept: [
        'They are kept, so that I can ask more about them',
        'Without anybody contributing again. Everybody who contributes reads before that how many questions it can be, and for how long. Each answer tells more, and all together tell most. While they are there, two dishonest servers together could read them.',
      ],
    },
    questions: 'How many more questions at most?',
    days: 'For how many days after the result?',
    wrong: {
      question: 'Write what it is about, in one line.',
      vertices: 'Write the names, one on each line.',
      from: 'Write a name from the list to start from.',
      few: 'With fewer than ten names beside those to start from, counts would tell the distance of each: add names, or choose “The value of each”.',
    },
    seesTitle: 'Who sees what?',
    sees: [
      [
        'The servers',
        'Who contributed, and when. Not one connection, unless two of the three work together.',
      ],
      [
        'Other contributors',
        'What you ask and the names. Nothing of each other’s connections but what the result tells.',
      ],
      ['You', 'The result, and whose link was used. Not one connection.'],
    ],
  },
  by: (servers: string[]) =>
    `${spoken(servers)} compute together on the connections of several people. Nobody learns a single one, the servers included, as long as at most one of them is dishonest.`,
  of: (vertices: number) => `The graph has ${several(vertices, 'vertex', 'vertices')}.`,
  comesOut: {
    distances: (hops: number, from: string[]) =>
      `What is computed: how many connections each vertex is away from ${from.length > 0 && from.length <= 5 ? spoken(from) : 'given vertices'}, up to ${number(hops)}.`,
    reach: (hops: number, from: string[]) =>
      `What is computed: which vertices are at most ${several(hops, 'connection', 'connections')} away from ${from.length > 0 && from.length <= 5 ? spoken(from) : 'given vertices'}.`,
    edges: 'What is computed: how many connections there are.',
    pagerank: (hops: number) =>
      `What is computed: how each vertex ranks (PageRank), in ${several(hops, 'step', 'steps')}.`,
    'in-degrees': 'What is computed: how many connections lead to each vertex.',
    'out-degrees': 'What is computed: how many connections lead away from each vertex.',
    shortest: (within: number, longest: number, from: string[]) =>
      `What is computed: how long the shortest way to each vertex from ${from.length > 0 && from.length <= 5 ? spoken(from) : 'given vertices'} is, up to ${number(within)}. A third field on a line says how long a connection is, from 1 to ${number(longest)}.`,
    components: (hops: number) =>
      `What is computed: which vertices hang together, as far as ${several(hops, 'connection leads', 'connections lead')}. The servers see it, too.`,
    katz: (hops: number) =>
      `What is computed: how central each vertex is (Katz), by paths of up to ${number(hops)} connections.`,
  },
  shown: {
    counts: 'What comes out: how many vertices have which value, and not which ones.',
    vertices: 'What comes out: the value of every vertex.',
    atLeast: (threshold: number) =>
      `What comes out: the values of vertices with ${number(threshold)} or more; of the others only that they have less.`,
    top: (count: number) =>
      `What comes out: the ${several(count, 'vertex', 'vertices')} with the highest values, and these; of the others nothing.`,
    total: 'What comes out: that number.',
    noise: (epsilon: number) =>
      `With noise that hides whether any one connection is there (ε = ${number(epsilon)}).`,
    forReader: 'Only who asked can read it, the servers cannot.',
    forAll: 'Everybody with the link can read it.',
  },
  processors: (processors: number) =>
    `It is computed by scatter and gather with ${several(processors, 'processor', 'processors')}, which comes to the same.`,
  erased: 'The servers erase what is contributed when the result is there.',
  kept: (questions: number, days: number) =>
    `The servers keep what is contributed, and who asks can ask up to ${several(questions, 'more question', 'more questions')} about it within ${several(days, 'day', 'days')}: anything that can be asked of such connections. Then they erase it.`,
  earlier:
    'It is computed on what was contributed to an earlier question, and nobody contributes anew.',
  further: {
    title: 'Ask more about the same connections',
    text: (questions: number, days: number) =>
      `The servers keep what was contributed for up to ${several(questions, 'more question', 'more questions')} of yours, asked within ${several(days, 'day', 'days')} after this result, and erase it then. Nobody contributes again; those who did have read that. Each answer tells more about their connections.`,
    open: 'Another question',
    questionHint: 'Everybody with its link sees it.',
    few: 'With fewer than ten names beside those to start from, counts would tell the distance of each: choose “The value of each”.',
    ask: 'Ask it, and compute at once',
  },
  stages: {
    sealing: 'Agreeing on which contributions count',
    preparing: 'Preparing secret shuffles',
    checking: 'Checking that every list is a graph, without seeing one',
    hop: 'Following the connections',
    verifying: 'Verifying what was computed',
    opening: 'Opening what was asked for, and nothing else',
    part: (part: number, of: number) => `${number(part)} of ${number(of)}`,
    sent: (bytes: number) => `${megabytes(bytes)} MB sent by each server so far`,
    done: 'done',
  },
  undirected: 'Connections count in both directions.',
  weighted: 'A third field on a line says how many connections it is.',
  file: 'File with your connections',
  fileHint: (edges: number) =>
    `Two names on each line, separated by a comma, a tab or a space; up to ${number(edges)} lines. The file stays on this device.`,
  names: 'File with the names of the vertices',
  namesHint: 'Whoever asked has given it to you; it is the same for everybody.',
  wrongNames: 'These are other names than those of whoever asked, or in another order.',
  reading: (edges: number) => `Reading: ${several(edges, 'connection', 'connections')} so far…`,
  noText: 'This is no text file in UTF-8.',
  tooMany: (edges: number) =>
    `The file has more than the ${several(edges, 'connection', 'connections')} that one person may have.`,
  empty: 'The file has no connections.',
  bad: (lines: number) =>
    `${several(lines, 'line is', 'lines are')} wrong, so nothing was sent. Correct the file and choose it again:`,
  more: (lines: number) => `… and ${several(lines, 'more line', 'more lines')}`,
  ready: (edges: number) =>
    `${several(edges, 'connection', 'connections')} read, every line is right.`,
  tells: (minimum: number) =>
    `Consider: this is computed as soon as ${several(minimum, 'person has', 'people have')} contributed, and values of single vertices come out. With so few they can show which connections are yours.`,
  send: 'Contribute them',
  making: 'Making the parts for the servers…',
  sending: (servers: number, of: number, kilobytes: number) =>
    `Sending ${number(kilobytes)} kB to each server: ${number(servers)} of ${number(of)} have it…`,
  again: 'Your contribution is kept on this device, but not all servers have it yet.',
  resend: 'Hand it in again',
  thanks: 'Your connections are in. All servers have signed that they hold them.',
  once: 'They cannot be changed. This device does not keep them.',
  uninvited: 'Only people who got a link of their own may contribute.',
  count: (n: number, minimum: number) =>
    n < minimum
      ? `${several(n, 'contribution', 'contributions')}; ${minimum - n === 1 ? '1 more is' : `${number(minimum - n)} more are`} needed before anything is computed`
      : several(n, 'contribution', 'contributions'),
  sealing: 'It is closed. The servers agree on which contributions count…',
  computing: (n: number) =>
    `The servers compute on ${several(n, 'contribution', 'contributions')}. Each sees only numbers that look random.`,
  tooFew: (missing: number) =>
    `It closed with too few contributions: ${number(missing)} more were needed. Nothing was computed, and nobody knows anything about the contributions.`,
  result: {
    picture: 'How many vertices have which value',
    value: 'Value',
    vertices: 'Vertices',
    vertex: 'Vertex',
    hops: (hops: number) => (hops === 0 ? 'start' : several(hops, 'connection', 'connections')),
    between: (from: number, to: number) =>
      from === to ? number(from) : `${number(from)} to ${number(to)}`,
    far: (hops: number) => `not within ${number(hops)}`,
    within: (hops: number) => `within ${number(hops)}`,
    from: (least: number) => `${number(least)} and more`,
    total: (edges: number) => several(edges, 'connection', 'connections'),
    below: (threshold: number) => `below ${number(threshold)}`,
    top: 'The highest values',
    components: 'How many groups have which size',
    largest: 'The largest groups, by their first vertex',
    sized: (from: number, to: number) =>
      `of ${from === to ? number(from) : `${number(from)} to ${number(to)}`}`,
    closed:
      'The result is there, and it is for who asked alone: open this page on the device where it was asked. Nobody else can read it, the servers included.',
    liars: (servers: string[]) =>
      `${spoken(servers)} has sealed something else for you than it has signed for: it lies. The result is right nevertheless.`,
    of: (n: number, out: number) =>
      `of ${several(n, 'contribution', 'contributions')}${out > 0 ? `; ${number(out)} did not count` : ''}`,
  },
  sees: 'On your device the order of your connections is hidden by three secret shuffles, of which each server knows only two parts; what is sent looks random to each of them. Everybody sends as much, however many connections they have. Servers see who contributed and when, not what; everybody with the link sees the keys of those who contributed.',
  number,
  part: (part: number) => part.toLocaleString('en', { style: 'percent', maximumFractionDigits: 3 }),
};

export type Graph = typeof en;
