import { type AdminSession, quoteName, SCHEMA } from '@banking/postgres';

/** A table whose rows of one workspace move with it. */
export interface MovedTable {
  readonly name: string;
  /** SQL of the condition on its rows, which only names columns of its primary key. */
  readonly condition: (workspaceId: number) => string;
  /** The columns of its primary key, and their types. */
  readonly key: readonly string[];
  readonly keyTypes: readonly string[];
  /** Its columns that are compared after the copy, in their order. */
  readonly compared: readonly string[];
}

/** Tables with a `workspace_id` that do not move, and the reason of each. */
export const NOT_MOVED: Readonly<Record<string, string>> = {
  workspace_role: 'the directory, of which each cell has a copy',
  member: 'the directory, of which each cell has a copy',
  workspace_place: 'the places, of which each cell has a copy',
  account_place: 'written at home for all cells',
  workspace_move: 'the moves themselves, at home',
  cell_workspace: 'whether a cell serves the workspace, which differs between cells',
  account_code:
    'made of the accounts when the target opens: before, payers there would find an account that is not open',
};

/**
 * Tables without a `workspace_id` that move too: the network of a sandbox has keys of payouts instead. Without its memory, a payout would
 * have no events.
 */
export const MOVED_BY_KEY: readonly string[] = ['sandbox_rail_payment', 'sandbox_rail_event'];

/** Columns that may be written without a scope, so the source may change them while it is closed. They are of no use after a move. */
const NOT_COMPARED: Readonly<Record<string, readonly string[]>> = {
  work: ['due_at', 'leased_until', 'fence'],
  webhook_due: ['due_at'],
  sandbox_rail_payment: ['submissions'],
  sandbox_rail_event: ['handed_until', 'acknowledged'],
};

const TABLES = `
  select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns,
         bool_or(a.attname = 'workspace_id') as "hasWorkspace",
         exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgenabled = 'A') as "isWatched",
         array_agg(a.attname::text order by a.attnum) filter (where a.attnum = any (i.indkey)) as key,
         array_agg(format_type(a.atttypid, a.atttypmod) order by a.attnum) filter (where a.attnum = any (i.indkey)) as "keyTypes"
  from pg_class c join pg_index i on i.indrelid = c.oid and i.indisprimary join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relnamespace = '${SCHEMA}'::regnamespace and c.relkind in ('r', 'p')
  group by c.oid, c.relname order by c.relname`;

/** A table by the catalog, with its columns and those of its primary key. */
export interface TableRow {
  readonly name: string;
  readonly columns: readonly string[];
  readonly hasWorkspace: boolean;
  /** Whether replicated rows run triggers, as those of members and roles do. */
  readonly isWatched: boolean;
  readonly key: readonly string[];
  readonly keyTypes: readonly string[];
}

/** All tables of the schema, by name. */
export const tablesOfSchema = (session: AdminSession): Promise<readonly TableRow[]> => session.query<TableRow>(TABLES);

/** The tables that move, by the catalog of a database, by name. */
export async function tablesOfWorkspace(session: AdminSession): Promise<readonly MovedTable[]> {
  const tables = await tablesOfSchema(session);
  return tables.flatMap(({ name, columns, hasWorkspace, key, keyTypes }) => {
    const isByKey = MOVED_BY_KEY.includes(name);
    if (!isByKey && (!hasWorkspace || name in NOT_MOVED)) return [];
    const compared = columns.filter((column) => !NOT_COMPARED[name]?.includes(column));
    return [{ name, condition: isByKey ? ofKey : ofWorkspace, key, keyTypes, compared }];
  });
}

/** The table with its schema, for a session without a search path. */
export const qualified = (name: string): string => `${SCHEMA}.${quoteName(name)}`;

export const ofWorkspace = (workspaceId: number): string => `workspace_id = ${wholeNumber(workspaceId)}`;

/** The key of a payout; see `payoutKey`. */
const ofKey = (workspaceId: number): string => `starts_with(key, 'payout-${wholeNumber(workspaceId)}-')`;

/** A part of SQL text. */
function wholeNumber(id: number): number {
  if (!Number.isSafeInteger(id) || id < 1) throw new Error('not an id');
  return id;
}
