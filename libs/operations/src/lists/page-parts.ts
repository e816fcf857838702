/** An index that serves a list: workspace, the column of `filter` if there is one, the class columns, `created_at`, `id`. */
interface ListIndex {
  /** The filter whose column leads the index behind the workspace. */
  readonly filter?: string;
  /** The condition of the partial index, over `l`. Repeating it is what lets PostgreSQL choose this index. */
  readonly where: string;
}

/** A list of one workspace: newest first by `created_at`, then by `id`. */
export interface PagedList {
  readonly name: string;
  /** `l` in what follows. */
  readonly table: string;
  /** The first whose filter is given serves the page. The last has no filter. */
  readonly indexes: readonly [...ListIndex[], ListIndex];
  /** Columns with few distinct values and their SQL types, in the order of the indexes. Each is a filter of its name. */
  readonly classes: Readonly<Record<string, string>>;
  /** Conditions by the names of all other filters, each over one parameter. */
  readonly filters: Readonly<Record<string, (parameter: string) => string>>;
  /** Writes the common table expressions that end in `page`. */
  readonly page: (parts: PageParts) => string;
  /** The JSON of an item, from a row of the page, `t`, and what that is joined with. */
  readonly item: string;
  readonly joins: string;
}

/** The conditions of one page, by where they belong. */
export interface PageParts {
  readonly table: string;
  readonly classes: readonly string[];
  /** Equalities on the leading columns of the index, and its condition. */
  readonly range: readonly string[];
  /** Where the page before ended. */
  readonly after: readonly string[];
  readonly rest: readonly string[];
  /** Conditions on class columns, over the row that has them. */
  readonly ofClass: (row: string) => readonly string[];
  /** The parameter of each filter that is given. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Parameters: `$1` the workspace, `$2` the limit, `$3` and `$4` the position if there is one, then the filters. */
export function partsOf(list: PagedList, given: readonly string[], isContinued: boolean): PageParts {
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
