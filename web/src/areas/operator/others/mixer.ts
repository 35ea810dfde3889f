// What the operator of a mixing server asks of it.

import { askWith } from '../../../lib/servers/operator';
import {
  count,
  flag,
  list,
  oneOf,
  optional,
  record,
  text,
  type Of,
} from '../../../lib/servers/shape';

const deed = oneOf('other_seed', 'false_numbers', 'false_result', 'false_complaint');

const serverShape = record({
  name: text,
  url: text,
  own: flag,
  state: oneOf('fine', 'catching-up', 'away'),
  /** Steps of the common order that it lacks; `null` before it has said how far it is. */
  behind: optional(count),
  /** What it was convicted of. */
  convicted: optional(deed),
  /** It has not shown its part of the last preparation that was spoilt. */
  lacking: flag,
});

const mixerShape = record({
  name: text,
  room: text,
  stands: oneOf('founding', 'asking', 'data-lost', 'runs'),
  corrupt: count,
  servers: list(serverShape),
  commits: count,
  entries: count,
  collecting: optional(record({ epoch: count, places: count, rows: count })),
  mixing: count,
  /** Rounds that are prepared. */
  ready: count,
  /** Why no more can be prepared. */
  ended: optional(oneOf('convicted', 'away', 'spoilt')),
  spoilt: count,
  journal: count,
  messages: count,
  memory: optional(count),
  disk: optional(record({ free: count, total: count })),
});

export type Mixer = Of<typeof mixerShape>;
export type MixingServer = Of<typeof serverShape>;

export class MixerApi {
  constructor(private readonly token: string) {}

  async overview(): Promise<Mixer> {
    return mixerShape(await askWith(this.token, '/api/v1/operator/mix', {}));
  }
}
