import type { Reference } from '../reference/reference.js';
import { selected } from './columns.js';

/** How a resource is read: the columns of a row `t` and of its joins, and what composes the resource of them. */
export interface Composed<Row, Resource> {
  /** A list of SELECT. */
  readonly columns: string;
  readonly joins: string;
  readonly compose: (reference: Reference, row: Row) => Resource;
}

/** The columns of several tables by their aliases, as one list of SELECT. Their names are distinct. */
export function selectedOf(
  ...parts: readonly (readonly [Readonly<Record<string, (alias: string) => string>>, string])[]
): string {
  return parts.map(([columns, alias]) => selected(columns, alias)).join(', ');
}
