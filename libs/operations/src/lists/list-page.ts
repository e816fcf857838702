import { LIMIT_DEFAULT, LIMIT_MAX, Refusal, type Page, type PageQuery, type WorkspaceId } from '@banking/domain';
import { bind, statement, type Bound, type Database, type Statement } from '@banking/postgres';
import type { CursorSeal } from './cursor-seal.js';
import { partsOf, type PagedList } from './page-parts.js';
import { PLAN_BY_ORDER } from './plan-by-order.js';

interface Row {
  readonly item: unknown;
  readonly at: string;
  readonly id: bigint;
}

/** A thing a filter names, and the refusal when the workspace has no such thing. */
export interface Named {
  readonly bound: Bound<unknown>;
  readonly otherwise: Refusal;
}

export interface PageWish extends PageQuery {
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
 * One page of a list, in one round trip.
 *
 * @throws Refusal `limit_invalid`, `cursor_invalid`, and what a filter names that is not there
 */
export async function listPage<T>(
  database: Database,
  seal: CursorSeal,
  list: PagedList,
  wish: PageWish,
): Promise<Page<T>> {
  const { workspaceId, cursor, named = [] } = wish;
  const limit = checkedLimit(wish);
  const filters = Object.entries(wish.filters).filter(([, value]) => value !== undefined);
  const scope = { list: list.name, workspaceId, filters: Object.fromEntries(filters) };
  const after = cursor === undefined ? undefined : await seal.open(scope, cursor);

  const page = bind(
    pageStatement(
      list,
      filters.map(([name]) => name),
      after !== undefined,
    ),
    workspaceId,
    // One more tells whether there is a page behind this one.
    limit + 1,
    ...(after ? [after.at, after.id] : []),
    ...filters.map(([, value]) => value),
  );
  const [, rows, ...found] = await database.flight({ workspaces: [workspaceId] }, [
    PLAN_BY_ORDER,
    page,
    ...named.map(({ bound }) => bound),
  ]);
  named.forEach(({ otherwise }, index) => {
    if (found[index]?.length === 0) throw otherwise;
  });

  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items: items.map(({ item }) => item as T),
    ...(rows.length > limit && last && { next: await seal.write(scope, { at: last.at, id: Number(last.id) }) }),
  };
}

const statements = new Map<string, Statement<Row>>();

/** A statement for each set of filters that is asked for: one for all would be planned for none. */
function pageStatement(list: PagedList, filters: readonly string[], isContinued: boolean): Statement<Row> {
  const all = Object.keys({ ...list.classes, ...list.filters });
  const name = `${list.name}.${isContinued ? 'after' : 'first'}.${filters.map((filter) => all.indexOf(filter)).join('_')}`;
  const known = statements.get(name);
  if (known) return known;

  const made = statement<Row>(
    name,
    `with recursive ${list.page(partsOf(list, filters, isContinued))}
     select ${list.item} as item, rfc3339(t.created_at) as at, t.id
     from page t ${list.joins}
     order by t.created_at desc, t.id desc`,
  );
  statements.set(name, made);
  return made;
}
