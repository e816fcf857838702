import type { ComposedPage } from '../resources/compose-page.js';

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
  const index = list.indexes.find(({ filter }) => filter === undefined || filter in parameters);
  if (!index) throw new Error(`${list.name} has no index without a filter`);

  const range = ['l.workspace_id = $1', index.where];
  const rest: string[] = [];
  for (const [filter, parameter] of Object.entries(parameters)) {
    const condition = list.filters[filter];
    if (filter in list.classes) continue;
    if (condition) (filter === index.filter ? range : rest).push(condition(parameter));
    else throw new Error(`${list.name} has no filter ${filter}`);
  }
  const after = isContinued ? ['(l.created_at, l.id) < ($3::timestamptz, $4::bigint)'] : [];
  const ofClass = (row: string) =>
    Object.entries(list.classes).flatMap(([column, type]) =>
      column in parameters ? [`${row}.${column} = ${parameters[column]}::${type}`] : [],
    );
  return { table: list.table, classes: Object.keys(list.classes), range, after, rest, ofClass, parameters };
}
