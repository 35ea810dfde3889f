// What people of one name are called, as the WASM module tells them apart.

import { toldApart } from '../../page/cryptography';
import { list, record, text, type Of } from '../../servers/shape';

const calledShape = list(record({ code: text, called: text }));

/** A name, and digits that nobody else has; none for whose name stays as it is. */
export interface Bearer {
  name: string;
  code: string;
}

/**
 * For each what it is called, and the first digits of the code if those are needed to tell apart
 * whose names look alike; otherwise none.
 */
export const calledApart = (bearers: Bearer[]): Of<typeof calledShape> =>
  calledShape(JSON.parse(toldApart(JSON.stringify(bearers))));
