import { LIMIT_DEFAULT, LIMIT_MAX, Refusal, type Page, type PageQuery, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement, type BoundStatement, type Database, type SqlStatement } from '@banking/postgres';
import type { CursorSigner } from './sign-cursor.js';
import { pageConditions, type PagedList } from './paged-list.js';
import { PLAN_BY_ORDER } from './plan-by-order.js';

interface Row {
  readonly item: unknown;
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
export async function listPage<T>(
  database: Database,
  cursors: CursorSigner,
  list: PagedList,
  options: PageOptions,
): Promise<Page<T>> {
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
  const [, rows, ...namedRows] = await database.pipeline({ workspaces: [workspaceId] }, [
    PLAN_BY_ORDER,
    page,
    ...named.map(({ bound }) => bound),
  ]);
  named.forEach(({ refusal }, index) => {
    if (namedRows[index]?.length === 0) throw refusal;
  });

  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items: items.map(({ item }) => item as T),
    ...(rows.length > limit && last && { next: await cursors.sign(scope, { at: last.at, id: Number(last.id) }) }),
  };
}

const statements = new Map<string, SqlStatement<Row>>();

/** One SQL statement per set of filters: one for all sets would have a bad plan for each. */
function pageStatement(list: PagedList, filters: readonly string[], isContinued: boolean): SqlStatement<Row> {
  const all = Object.keys({ ...list.classes, ...list.filters });
  const name = `${list.name}.${isContinued ? 'after' : 'first'}.${filters.map((filter) => all.indexOf(filter)).join('_')}`;
  const existing = statements.get(name);
  if (existing) return existing;

  const statement = sqlStatement<Row>(
    name,
    `with recursive ${list.page(pageConditions(list, filters, isContinued))}
     select ${list.item} as item, rfc3339(t.created_at) as at, t.id
     from page t ${list.joins}
     order by t.created_at desc, t.id desc`,
  );
  statements.set(name, statement);
  return statement;
}
