import { LIMIT_DEFAULT, LIMIT_MAX, Refusal, type Page, type PageQuery, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement, type BoundStatement, type SqlStatement } from '@banking/postgres';
import type { Reading } from '../resources/reading.js';
import { pageConditions, type PagedList } from './paged-list.js';
import { PLAN_PAGES_ONCE } from './plan-by-order.js';

/** Where a row is in the order of its list. Columns of the item have other names. */
interface Place {
  readonly at: string;
  readonly id: bigint;
}

/** A query for the row that a filter names, and the refusal if the workspace has no such row. */
export interface Named {
  readonly bound: BoundStatement<unknown>;
  readonly refusal: Refusal;
}

export interface PageOptions extends PageQuery {
  readonly workspaceId: WorkspaceId;
  readonly filters: Readonly<Record<string, unknown>>;
  readonly named?: readonly Named[];
}

/** @throws Refusal `limit_invalid` */
export function checkedLimit({ limit = LIMIT_DEFAULT }: PageQuery): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) throw new Refusal('limit_invalid');
  return limit;
}

/**
 * Reads one page of a list, in one round trip.
 *
 * @throws Refusal `limit_invalid`, `cursor_invalid`, and that of a filter that names a missing row
 */
export async function listPage<Row, Resource>(
  { database, cursors, reference }: Reading,
  list: PagedList<Row, Resource>,
  options: PageOptions,
): Promise<Page<Resource>> {
  const { workspaceId, cursor, named = [] } = options;
  const limit = checkedLimit(options);
  const filters = Object.entries(options.filters).filter(([, value]) => value !== undefined);
  const scope = { list: list.name, workspaceId, filters: Object.fromEntries(filters) };
  const after = cursor === undefined ? undefined : await cursors.verify(scope, cursor);

  const page = bind(
    pageStatement(
      list,
      filters.map(([name]) => name),
      after !== undefined,
    ),
    workspaceId,
    // One more row shows whether there is a next page.
    limit + 1,
    ...(after ? [after.at, after.id] : []),
    ...filters.map(([, value]) => value),
  );
  const queries = [PLAN_PAGES_ONCE, page, ...named.map(({ bound }) => bound)] as const;
  const [[, rows, ...namedRows]] = await Promise.all([
    database.pipeline({ workspaces: [workspaceId] }, queries),
    reference.current(),
  ]);
  named.forEach(({ refusal }, index) => {
    if (namedRows[index]?.length === 0) throw refusal;
  });

  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items: await reference.compose((current) => items.map((row) => list.item.compose(current, row))),
    ...(rows.length > limit && last && { next: await cursors.sign(scope, { at: last.at, id: Number(last.id) }) }),
  };
}

const statements = new Map<string, SqlStatement<Place>>();

/** One SQL statement per set of filters: one for all sets would have a bad plan for each. */
function pageStatement<Row, Resource>(
  list: PagedList<Row, Resource>,
  filters: readonly string[],
  isContinued: boolean,
): SqlStatement<Row & Place> {
  const all = Object.keys({ ...list.classes, ...list.filters });
  const name = `${list.name}.${isContinued ? 'after' : 'first'}.${filters.map((filter) => all.indexOf(filter)).join('_')}`;
  const existing = statements.get(name);
  if (existing) return existing as SqlStatement<Row & Place>;

  const statement = sqlStatement<Row & Place>(
    name,
    `with recursive ${list.page(pageConditions(list, filters, isContinued))}
     select ${list.item.columns}, rfc3339(t.created_at) as at, t.id
     from page t ${list.item.joins}
     order by t.created_at desc, t.id desc`,
  );
  statements.set(name, statement);
  return statement;
}
