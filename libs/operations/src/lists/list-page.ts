import { LIMIT_DEFAULT, LIMIT_MAX, Refusal, type Page, type PageQuery, type WorkspaceId } from '@banking/domain';
import { bind, statement, type Bound, type Database, type Statement } from '@banking/postgres';
import type { CursorSeal } from './cursor-seal.js';

/** A list of one workspace: newest first by `created_at`, then by `id`. */
export interface PagedList {
  readonly name: string;
  /** The table that is walked, which an index serves in this order; `l` in what follows. */
  readonly table: string;
  /** What of it is on the list at all. */
  readonly where: string;
  /** Conditions by the names of their filters, each over one parameter. */
  readonly filters: Readonly<Record<string, (parameter: string) => string>>;
  /** The JSON of an item, from a row of the page, `t`, and what that is joined with. */
  readonly item: string;
  readonly joins: string;
}

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
  const { workspaceId, limit = LIMIT_DEFAULT, cursor, named = [] } = wish;
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) throw new Refusal('limit_invalid');
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
  const [rows, ...found] = await database.flight({ workspaces: [workspaceId] }, [
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
  const all = Object.keys(list.filters);
  const name = `${list.name}.${isContinued ? 'after' : 'first'}.${filters.map((filter) => all.indexOf(filter)).join('_')}`;
  const known = statements.get(name);
  if (known) return known;

  const conditions = [`l.workspace_id = $1`, list.where];
  if (isContinued) conditions.push('(l.created_at, l.id) < ($3::timestamptz, $4::bigint)');
  const first = isContinued ? 5 : 3;
  filters.forEach((filter, index) => {
    const condition = list.filters[filter];
    if (!condition) throw new Error(`${list.name} has no filter ${filter}`);
    conditions.push(condition(`$${first + index}`));
  });
  const made = statement<Row>(
    name,
    `with page as materialized (
       select l.* from ${list.table} l where ${conditions.join(' and ')}
       order by l.created_at desc, l.id desc limit $2)
     select ${list.item} as item, rfc3339(t.created_at) as at, t.id
     from page t ${list.joins}
     order by t.created_at desc, t.id desc`,
  );
  statements.set(name, made);
  return made;
}
