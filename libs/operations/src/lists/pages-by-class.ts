import type { PageParts } from './page-parts.js';

const NEWEST_FIRST = (row: string) => `order by ${row}.created_at desc, ${row}.id desc`;

/** The distinct values of the class columns: each step is one descent of the index to the next combination. */
export function classes({ table, classes: columns, range }: PageParts): string {
  const of = (row: string) => columns.map((column) => `${row}.${column}`).join(', ');
  const next = (conditions: readonly string[]) =>
    `select ${of('l')} from ${table} l where ${conditions.join(' and ')} order by ${of('l')} limit 1`;
  return `class as (
    (${next(range)})
    union all
    select n.* from class c cross join lateral (${next([...range, `(${of('l')}) > (${of('c')})`])}) n)`;
}

/** The newest rows of all classes that are asked for, merged. Each class is one range of the index. */
function newest({ table, classes: columns, range, after, rest, ofClass }: PageParts, limit: string): string {
  const conditions = [...range, ...columns.map((column) => `l.${column} = c.${column}`), ...after, ...rest];
  const filters = ofClass('c');
  return `select r.* from class c cross join lateral (
      select l.* from ${table} l where ${conditions.join(' and ')} ${NEWEST_FIRST('l')} limit ${limit}) r
    ${filters.length === 0 ? '' : `where ${filters.join(' and ')}`}
    ${NEWEST_FIRST('r')} limit ${limit}`;
}

/** A page whose filters are all columns of the table. */
export const pageByClass = (parts: PageParts): string =>
  `${classes(parts)}, page as materialized (${newest(parts, '$2')})`;

/** A page of a list without class columns. */
export const pageOfAll = ({ table, range, after, rest }: PageParts): string =>
  `page as materialized (
    select l.* from ${table} l where ${[...range, ...after, ...rest].join(' and ')} ${NEWEST_FIRST('l')} limit $2)`;

/**
 * All rows from the newest on, one by one, as `walk`: for filters on another table. It is read only as far as a `limit` asks; a `limit`
 * inside it would be reached before that filter is applied.
 */
export function walk(parts: PageParts): string {
  const behind = { ...parts, after: ['(l.created_at, l.id) < (w.created_at, w.id)'] };
  return `walk as (
    (${newest(parts, '1')})
    union all
    select n.* from walk w cross join lateral (${newest(behind, '1')}) n)`;
}
