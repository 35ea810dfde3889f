// Checks that what a server sent has the form that the page works with. Servers are not trusted to
// be well-behaved.

/** Reads a value, or throws {@link Malformed}. */
export type Shape<T> = (value: unknown) => T;

/** A server's answer that is not in the agreed form. */
export class Malformed extends Error {
  constructor(what: string) {
    super(`the server's answer is malformed: ${what}`);
  }
}

export const text: Shape<string> = (value) => {
  if (typeof value !== 'string') throw new Malformed('text expected');
  return value;
};

/** An integer from 0 that JavaScript represents exactly. */
export const count: Shape<number> = (value) => {
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw new Malformed('a count expected');
  return value as number;
};

export const flag: Shape<boolean> = (value) => {
  if (typeof value !== 'boolean') throw new Malformed('yes or no expected');
  return value;
};

/** Anything: kept as it came, to be given to the cryptography, which checks it itself. */
export const opaque: Shape<unknown> = (value) => value;

export function oneOf<T extends string>(...choices: T[]): Shape<T> {
  return (value) => {
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw new Malformed(`one of ${choices.join(', ')} expected`);
    return found;
  };
}

/** `null` and absence are the same. */
export function optional<T>(inner: Shape<T>): Shape<T | null> {
  return (value) => (value === null || value === undefined ? null : inner(value));
}

export function list<T>(inner: Shape<T>): Shape<T[]> {
  return (value) => {
    if (!Array.isArray(value)) throw new Malformed('a list expected');
    return value.map(inner);
  };
}

type Fields = Record<string, Shape<unknown>>;
export type Of<S> = S extends Shape<infer T> ? T : never;

export function record<F extends Fields>(fields: F): Shape<{ [K in keyof F]: Of<F[K]> }> {
  return (value) => {
    if (typeof value !== 'object' || value === null) throw new Malformed('an object expected');
    const entries = Object.entries(fields).map(([name, inner]) => [
      name,
      inner((value as Record<string, unknown>)[name]),
    ]);
    return Object.fromEntries(entries) as { [K in keyof F]: Of<F[K]> };
  };
}
