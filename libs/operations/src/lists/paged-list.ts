import { isInstant, Refusal } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import type { ComposedPage } from '../resources/reading.js';

/** An index of a list: workspace, the column of `filter` if it has one, the class columns, `created_at`, `id`. */
interface ListIndex {
  /** The filter of the index's second column. */
  readonly filter?: string;
  /** The condition of the partial index, over `l`. PostgreSQL uses the index only if the query repeats it. */
  readonly where: string;
}

/** A list of one workspace: newest first by `created_at`, then by `id`. */
export interface PagedList<Facts, Resource> {
  readonly name: string;
  /** Its alias is `l`. */
  readonly table: string;
  /** A page uses the first index whose filter is given. The last has no filter. */
  readonly indexes: readonly [...ListIndex[], ListIndex];
  /** Columns with few distinct values, with their SQL types, in the order of the indexes. Each is a filter of the same name. */
  readonly classes: Readonly<Record<string, string>>;
  /** The conditions of all other filters by name. Each has one parameter. */
  readonly filters: Readonly<Record<string, (parameter: string) => string>>;
  /** Filters that a page applies row by row: one may read very many rows that do not match. Default: none. */
  readonly scanned?: readonly string[];
  /** Composes common table expressions. The last is `page`. */
  readonly page: (conditions: PageConditions) => string;
  readonly items: ComposedPage<Facts, Resource>;
}

/** The conditions of one page. */
export interface PageConditions {
  readonly table: string;
  readonly classes: readonly string[];
  /** The equalities on the first columns of the index, and the condition of the index. */
  readonly range: readonly string[];
  /** The end of the previous page. */
  readonly after: readonly string[];
  /** The conditions that the index does not serve. */
  readonly rest: readonly string[];
  /** `range` and `rest` of each index whose filter is given, in the order of the indexes. */
  readonly filtered: readonly Pick<PageConditions, 'range' | 'rest'>[];
  /** The conditions on class columns of a row. */
  readonly ofClass: (row: string) => readonly string[];
  /** The parameter of each given filter. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The parameters are `$1` the workspace, `$2` the limit, `$3` and `$4` the position after the first page, then the filters. */
export function pageConditions<Facts, Resource>(
  list: PagedList<Facts, Resource>,
  given: readonly string[],
  isContinued: boolean,
): PageConditions {
  const first = isContinued ? 5 : 3;
  const parameters = Object.fromEntries(given.map((filter, index) => [filter, `$${first + index}`]));
  const usable = list.indexes.filter(({ filter }) => filter === undefined || filter in parameters);
  const [index] = usable;
  if (!index) throw new Error(`${list.name} has no index without a filter`);

  const conditionsOf = ({ filter: ofIndex, where }: ListIndex) => {
    const range = ['l.workspace_id = $1', where];
    const rest: string[] = [];
    for (const [filter, parameter] of Object.entries(parameters)) {
      const condition = list.filters[filter];
      if (filter in list.classes) continue;
      if (condition) (filter === ofIndex ? range : rest).push(condition(parameter));
      else throw new Error(`${list.name} has no filter ${filter}`);
    }
    return { range, rest };
  };
  const filtered = usable.filter(({ filter }) => filter !== undefined).map(conditionsOf);
  const after = isContinued ? ['(l.created_at, l.id) < ($3::timestamptz, $4::bigint)'] : [];
  const ofClass = (row: string) =>
    Object.entries(list.classes).flatMap(([column, type]) =>
      column in parameters ? [`${row}.${column} = ${parameters[column]}::${type}`] : [],
    );
  const columns = Object.keys(list.classes);
  return { table: list.table, classes: columns, ...conditionsOf(index), filtered, after, ofClass, parameters };
}

/**
 * Whether a page with the given filters may read very many rows that do not match all of them: several have an index each, or one is
 * applied row by row.
 */
export const mayScanMany = (
  { indexes, scanned = [] }: Pick<PagedList<unknown, unknown>, 'indexes' | 'scanned'>,
  given: readonly string[],
): boolean =>
  indexes.filter(({ filter }) => filter !== undefined && given.includes(filter)).length > 1 ||
  scanned.some((filter) => given.includes(filter));

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
  `${classes(conditions)}, ${pageOfFew(conditions, newest(conditions, '$2'))}`;

/** The most rows of one filter that a page reads before it scans those that `many` selects from. */
const FEW_MAX = 1_000;

/**
 * `page`, with the rows of a further filter if it has few. Otherwise the rows that `many` selects from would be scanned to their end where
 * the two have fewer rows in common than a page.
 *
 * @param many selects the page, by default from the rows of the first filter
 * @param options.joined joins further conditions to a row
 * @param options.further the filters whose rows may be few
 */
export function pageOfFew(
  { table, classes: columns, after, ofClass, filtered }: PageConditions,
  many: string,
  {
    joined = () => '',
    further = filtered.slice(1),
  }: { readonly joined?: (row: string) => string; readonly further?: PageConditions['filtered'] } = {},
): string {
  if (further.length === 0) return `page as materialized (${many})`;
  // In the order of its index, so that the planner takes no other.
  const byIndex = [...columns.map((column) => `l.${column}`), 'l.created_at desc', 'l.id desc'].join(', ');
  const isMany = (at: number) => `(select rows from size_of_few_${at}) > ${FEW_MAX}`;
  const areMany = (count: number) => further.slice(0, count).map((_, at) => isMany(at));
  const few = further.map(
    ({ range }, at) => `few_${at} as materialized (
      select l.* from ${table} l where ${range.join(' and ')} order by ${byIndex} limit ${FEW_MAX + 1}),
    size_of_few_${at} as materialized (select count(*) as rows from few_${at})`,
  );
  const pages = further.map(({ rest }, at) => {
    const conditions = [...areMany(at), `not ${isMany(at)}`, ...after, ...rest, ...ofClass('l')];
    return `(select l.* from few_${at} l ${joined('l')} where ${conditions.join(' and ')} ${NEWEST_FIRST('l')} limit $2)`;
  });
  return `${few.join(', ')}, page as materialized (
    ${pages.join(' union all ')}
    union all
    select m.* from (${many}) m where ${areMany(further.length).join(' and ')})`;
}

/** A page of a list without class columns. */
export const pageOfAll = ({ table, range, after, rest }: PageConditions): string =>
  `page as materialized (
    select l.* from ${table} l where ${[...range, ...after, ...rest].join(' and ')} ${NEWEST_FIRST('l')} limit $2)`;

/**
 * All rows, newest first, as `walk`: for a filter on another table. Each step reads as many as a page has. PostgreSQL takes steps up to the
 * `limit` of the outer query, because one inside would apply before that filter.
 */
export function walk(conditions: PageConditions): string {
  const older = { ...conditions, after: ['(l.created_at, l.id) < (w.created_at, w.id)'] };
  return `walk as (
    (${newest(conditions, '$2')})
    union all
    select n.* from (select created_at, id from walk order by created_at, id limit 1) w
    cross join lateral (${newest(older, '$2')}) n)`;
}

/** A period in the filters of a list. */
interface Period {
  readonly createdFrom?: string | undefined;
  readonly createdTo?: string | undefined;
}

/**
 * @param names the parameters of the period, or the JSON Pointers of fields
 * @throws Refusal `timestamp_invalid` if a limit is not an instant, or if the period ends before it begins
 */
export function checkPeriod(
  { createdFrom, createdTo }: Period,
  [from, to]: readonly [string, string] = ['createdFrom', 'createdTo'],
): void {
  for (const instant of [createdFrom, createdTo]) {
    if (instant !== undefined && !isInstant(instant)) throw new Refusal('timestamp_invalid');
  }
  if (createdFrom === undefined || createdTo === undefined) return;
  // `Date.parse` reads milliseconds: a smaller difference is accepted as an empty period.
  if (Date.parse(createdFrom) <= Date.parse(createdTo)) return;
  const message = `${from.replace('/', '')} must not be after ${to.replace('/', '')}.`;
  throw new Refusal('timestamp_invalid', message, {
    details: [{ path: from, reason: 'timestamp_invalid', message }],
  });
}

const BY_ORDER = `set_config('enable_sort', 'off', true), set_config('enable_incremental_sort', 'off', true)`;

/**
 * Planner settings for a query with a limit, in the same database transaction: without sorting, the planner chooses the index in the order
 * of the list. Without statistics, each index that begins with the workspace has the same cost, and the connection keeps the plan.
 */
export const PLAN_BY_ORDER = bind(sqlStatement('plan_by_order', `select ${BY_ORDER}`));

/**
 * The same for a page of a list, with one plan for all values of its parameters. PostgreSQL estimates that a plan for a known limit costs
 * less, and would plan each page again, which takes as long as reading 25 transfers.
 */
export const PLAN_PAGES_ONCE = bind(
  sqlStatement('plan_pages_once', `select ${BY_ORDER}, set_config('plan_cache_mode', 'force_generic_plan', true)`),
);
