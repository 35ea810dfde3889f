// Addresses of the servers' interface, as their OpenAPI document names them: one that is not there
// does not compile.

import type { components, paths } from './schema';

const ROOT = '/api/v1/';

/** The addresses below {@link ROOT}, with `{names}` where something is to be filled in. */
export type Address = keyof paths extends infer P
  ? P extends `/api/v1/${infer Rest}`
    ? Rest
    : never
  : never;

type Names<A extends string> = A extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : never;

/** An address of which nothing is left to be filled in. */
export type Filled = string & { readonly filled: unique symbol };

/** Fills in the names of an address; `query` stands after the question mark, if there is one. */
export function at<A extends Address>(
  address: A,
  names: Record<Names<A>, string | number>,
  query = '',
): Filled {
  const given = names as Record<string, string | number>;
  const path = address.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(given[name] ?? ''),
  );
  return `${ROOT}${path}${query && `?${query}`}` as Filled;
}

/** A type of the document as the page reads it: what may be absent may be `null`. */
type Read<T> = T extends (infer Item)[]
  ? Read<Item>[]
  : T extends object
    ? { [K in keyof T]-?: Read<Exclude<T[K], undefined>> | (undefined extends T[K] ? null : never) }
    : T;

/** What the document says of an answer. What the page takes from it must be a part of it. */
export type Answer<Name extends keyof components['schemas']> = Read<components['schemas'][Name]>;

/** Compiles if `Whole` has everything that `Part` says. */
export type PartOf<Whole extends Part, Part> = [Whole, Part];
