import type { PageConditions } from './paged-list.js';

const NEWEST_FIRST = (row: string) => `order by ${row}.created_at desc, ${row}.id desc`;

/** The distinct combinations of the class columns. Each step searches the index for the next combination. */
export function classes({ table, classes: columns, range }: PageConditions): string {
  const of = (row: string) => columns.map((column) => `${row}.${column}`).join(', ');
  const next = (conditions: readonly string[]) =>
    `select ${of('l')} from ${table} l where ${conditions.join(' and ')} order by ${of('l')} limit 1`;
  return `class as (
    (${next(range)})
    union all
    select n.* from class c cross join lateral (${next([...range, `(${of('l')}) > (${of('c')})`])}) n)`;
}

/** The newest rows of the requested classes, merged. Each class is one range of the index. */
function newest({ table, classes: columns, range, after, rest, ofClass }: PageConditions, limit: string): string {
  const perClass = [...range, ...columns.map((column) => `l.${column} = c.${column}`), ...after, ...rest];
  const filters = ofClass('c');
  return `select r.* from class c cross join lateral (
      select l.* from ${table} l where ${perClass.join(' and ')} ${NEWEST_FIRST('l')} limit ${limit}) r
    ${filters.length === 0 ? '' : `where ${filters.join(' and ')}`}
    ${NEWEST_FIRST('r')} limit ${limit}`;
}

/** A page of a list with class columns. All filters are columns of its table. */
export const pageByClass = (conditions: PageConditions): string =>
  `${classes(conditions)}, page as materialized (${newest(conditions, '$2')})`;

/** A page of a list without class columns. */
export const pageOfAll = ({ table, range, after, rest }: PageConditions): string =>
  `page as materialized (
    select l.* from ${table} l where ${[...range, ...after, ...rest].join(' and ')} ${NEWEST_FIRST('l')} limit $2)`;

/**
 * All rows one by one, newest first, as `walk`: for a filter on another table. PostgreSQL reads it up to the `limit` of the outer query.
 * A `limit` inside of it would apply before that filter.
 */
export function walk(conditions: PageConditions): string {
  const older = { ...conditions, after: ['(l.created_at, l.id) < (w.created_at, w.id)'] };
  return `walk as (
    (${newest(conditions, '1')})
    union all
    select n.* from walk w cross join lateral (${newest(older, '1')}) n)`;
}
