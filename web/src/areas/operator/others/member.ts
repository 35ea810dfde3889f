// What the operator of a committee's member asks of it.

import { askWith } from '../../../lib/servers/operator';
import { count, list, record, text, type Of } from '../../../lib/servers/shape';

const computationShape = record({
  id: text,
  title: text,
  job: text,
  phase: record({ is: text }),
  inputs: count,
  minimum: count,
  begun: count,
  /** Exchanges with the others, written down of what is being computed. */
  exchanges: count,
});

const memberShape = record({
  name: text,
  number: count,
  members: count,
  /** Members that it is not connected with. */
  missing: list(text),
  computations: list(computationShape),
});

export type Member = Of<typeof memberShape>;
export type Computation = Of<typeof computationShape>;

export class MemberApi {
  constructor(private readonly token: string) {}

  async overview(): Promise<Member> {
    return memberShape(await askWith(this.token, '/api/v1/operator/computations', {}));
  }
}
