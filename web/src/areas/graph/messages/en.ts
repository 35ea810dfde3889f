// Graphs that several people know a part of each.

import { several, spoken } from '../../../messages/en/words';

const number = (n: number) => n.toLocaleString('en');

export const en = {
  by: (servers: string[]) =>
    `${spoken(servers)} compute together on the connections of several people. Nobody learns a single one, the servers included, as long as at most one of them is dishonest.`,
  of: (vertices: number) => `The graph has ${several(vertices, 'vertex', 'vertices')}.`,
  comesOut: {
    distances: (hops: number, from: string[]) =>
      `What is computed: how many connections each vertex is away from ${from.length > 0 && from.length <= 5 ? spoken(from) : 'given vertices'}, up to ${number(hops)}.`,
    'in-degrees': 'What is computed: how many connections lead to each vertex.',
    'out-degrees': 'What is computed: how many connections lead away from each vertex.',
    katz: (hops: number) =>
      `What is computed: how central each vertex is (Katz), by paths of up to ${number(hops)} connections.`,
  },
  shown: {
    counts: 'What comes out: how many vertices have which value, and not which ones.',
    vertices: 'What comes out: the value of every vertex.',
    atLeast: (threshold: number) =>
      `What comes out: the values of vertices with ${number(threshold)} or more; of the others only that they have less.`,
  },
  undirected: 'Connections count in both directions.',
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
      ? `${several(n, 'contribution', 'contributions')}; ${number(minimum - n)} more are needed before anything is computed`
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
    hops: (hops: number) => (hops === 0 ? 'start' : several(hops, 'connection', 'connections')),
    between: (from: number, to: number) =>
      from === to ? number(from) : `${number(from)} to ${number(to)}`,
    far: (hops: number) => `not within ${number(hops)}`,
    below: (threshold: number) => `below ${number(threshold)}`,
    top: 'The highest values',
    of: (n: number, out: number) =>
      `of ${several(n, 'contribution', 'contributions')}${out > 0 ? `; ${number(out)} did not count` : ''}`,
  },
  sees: 'On your device the order of your connections is hidden by three secret shuffles, of which each server knows only two parts; what is sent looks random to each of them. Everybody sends as much, however many connections they have. Servers see who contributed and when, not what; everybody with the link sees the keys of those who contributed.',
  number,
};

export type Graph = typeof en;
