import {
  type AccountId,
  LIMIT_DEFAULT,
  LIMIT_MAX,
  type Page,
  type PageQuery,
  type PlainNumber,
  type RecipientId,
  Refusal,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { bind, type BoundStatement, SQLSTATE, sqlStatement, type SqlStatement, sqlstateOf } from '@banking/postgres';
import { timestampOf } from '../resources/columns.js';
import type { Reading } from '../resources/reading.js';
import { mayScanMany, pageConditions, type PagedList, PLAN_PAGES_ONCE } from './paged-list.js';

/** The ids and times of the items in the order of the list, as JSON. The other columns have other names. */
interface Places {
  readonly places: readonly (readonly [id: number, createdAt: string])[] | null;
}

/** A query for the row that a filter names, and the refusal if the workspace has no such row. */
interface Named {
  readonly bound: BoundStatement<unknown>;
  readonly refusal: Refusal;
}

interface PageOptions extends PageQuery {
  readonly workspaceId: WorkspaceId;
  readonly filters: Readonly<Record<string, unknown>>;
  /** Who reads, for a list with the condition `reader`. A cursor is valid for every reader. */
  readonly reader?: UserId | undefined;
  readonly named?: readonly Named[];
}

/** @throws Refusal `limit_invalid` */
export function checkedLimit({ limit = LIMIT_DEFAULT }: PageQuery): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) throw new Refusal('limit_invalid');
  return limit;
}

/**
 * Reads one page of a list, in one round trip, or on a replica in two.
 *
 * @throws Refusal `limit_invalid`, `cursor_invalid`, and that of a filter that names a missing row
 * @throws Refusal `filters_too_slow` if a page that may scan very many rows takes longer than a statement may
 */
export async function listPage<Facts, Resource>(
  { database, cursors, reference }: Reading,
  list: PagedList<Facts, Resource>,
  options: PageOptions,
): Promise<Page<Resource>> {
  const { workspaceId, cursor, reader, named = [] } = options;
  const limit = checkedLimit(options);
  const chosen = Object.entries(options.filters).filter(([, value]) => value !== undefined);
  const scope = { list: list.name, workspaceId, filters: Object.fromEntries(chosen) };
  const filters = reader === undefined ? chosen : [...chosen, ['reader', reader] as const];
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
  const [[, [row], ...namedRows]] = await Promise.all([
    database.readPipeline({ workspaces: [workspaceId] }, queries).catch((error: unknown) => {
      const isTooSlow = sqlstateOf(error) === SQLSTATE.queryCanceled && mayScanMany(list, Object.keys(scope.filters));
      // Each further attempt would take as long.
      throw isTooSlow ? new Refusal('filters_too_slow', undefined, { cause: error }) : error;
    }),
    reference.current(),
  ]);
  named.forEach(({ refusal }, index) => {
    if (namedRows[index]?.length === 0) throw refusal;
  });

  const places = row?.places ?? [];
  if (!row || places.length === 0) return { items: [] };
  const listed = places.slice(0, limit);
  const items = await reference.compose((current) => itemsOf(listed, list.items.compose(current, row)));
  const [id, createdAt] = listed.at(-1)!;
  return {
    items,
    ...(places.length > limit && { next: await cursors.sign(scope, { at: timestampOf(createdAt), id }) }),
  };
}

const itemsOf = <Resource>(
  places: readonly (readonly [id: number, createdAt: string])[],
  itemOf: (id: number) => Resource | undefined,
): readonly Resource[] =>
  places.map(([id]) => {
    const item = itemOf(id);
    if (item === undefined) throw new Error(`a page lacks the row of an item`);
    return item;
  });

const statements = new Map<string, SqlStatement<Places>>();

/** One SQL statement per set of filters: one for all sets would have a bad plan for each. */
function pageStatement<Facts, Resource>(
  list: PagedList<Facts, Resource>,
  filters: readonly string[],
  isContinued: boolean,
): SqlStatement<Facts & Places> {
  const all = Object.keys({ ...list.classes, ...list.filters });
  const name = `${list.name}.${isContinued ? 'after' : 'first'}.${filters.map((filter) => all.indexOf(filter)).join('_')}`;
  const existing = statements.get(name);
  if (existing) return existing as SqlStatement<Facts & Places>;

  const statement = sqlStatement<Facts & Places>(
    name,
    `with recursive ${list.page(pageConditions(list, filters, isContinued))}
     ${list.items.tables}
     select (select json_agg(json_build_array(t.id, t.created_at) order by t.created_at desc, t.id desc) from page t) as places,
     ${list.items.columns}`,
  );
  statements.set(name, statement);
  return statement;
}

const FIND_ACCOUNT = sqlStatement(
  'find_account',
  `select from account where workspace_id = $1 and id = $2 and kind = 'customer'`,
);

const FIND_RECIPIENT = sqlStatement('find_recipient', 'select from recipient where workspace_id = $1 and id = $2');

/** Queries for the account and the recipient that filters name. They must be of the workspace. The recipient may be deleted. */
export function namedParties(
  workspaceId: WorkspaceId,
  {
    accountId,
    recipientId,
  }: {
    readonly accountId?: AccountId | PlainNumber | undefined;
    readonly recipientId?: RecipientId | PlainNumber | undefined;
  },
): readonly Named[] {
  const named: Named[] = [];
  if (accountId !== undefined) {
    named.push({ bound: bind(FIND_ACCOUNT, workspaceId, accountId), refusal: new Refusal('account_not_found') });
  }
  if (recipientId !== undefined) {
    named.push({
      bound: bind(FIND_RECIPIENT, workspaceId, recipientId),
      refusal: new Refusal('recipient_not_found'),
    });
  }
  return named;
}
