import { type AdminSession, quoteName, SCHEMA } from '@banking/postgres';
import { asOwnerOf } from './act-as.js';
import { type MovedTable, qualified, tablesOfWorkspace } from './tables-of-workspace.js';
import type { MoveSessions } from './move-record.js';

/** A key of a table as JSON. */
type Key = string;

/** What was compared while the source served the workspace. What has changed since is compared when it is closed. */
export interface Baseline {
  /** The oldest transaction that ran in each database before its rows were read. Later ones made the rows that changed. */
  readonly source: string;
  readonly target: string;
  /** By table: the keys of rows that differed, because the target follows. */
  readonly differing: ReadonlyMap<string, readonly Key[]>;
}

const BUCKETS = 4_096;
/** Transactions that begin while the rows are read. */
const AHEAD_MAX = 1_000_000;
/** The text of a row must not depend on the settings of a server. */
const SETTINGS = `select set_config('statement_timeout', $1, true),
  set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO', true), set_config('intervalstyle', 'postgres', true),
  set_config('extra_float_digits', '1', true), set_config('bytea_output', 'hex', true)`;

const list = (names: readonly string[]) => names.map(quoteName).join(', ');
const hashOf = ({ compared }: MovedTable) => `('x' || left(md5(row (${list(compared)})::text), 16))::bit(64)::bigint`;
const keyOf = ({ key }: MovedTable) => `json_build_array(${list(key)})::text`;
const bucketOf = ({ key }: MovedTable) => `hashtext(row (${list(key)})::text) & ${BUCKETS - 1}`;

/**
 * Compares all rows while the source serves the workspace and the target follows. It takes as long as it takes: about a second for a
 * hundred thousand rows.
 */
export async function compareBefore({ source, target }: MoveSessions, workspaceId: number): Promise<Baseline> {
  const [there, here] = await Promise.all([oldestRunning(source), oldestRunning(target)]);
  const differing = new Map<string, readonly Key[]>();
  for (const table of await tablesOfWorkspace(source)) {
    const read = <Row extends object>(text: string, values: readonly unknown[] = []) =>
      Promise.all([source, target].map((session) => rowsOf<Row>(session, workspaceId, 0, text, values)));
    const from = `from ${qualified(table.name)} where ${table.condition(workspaceId)}`;
    const sums = await read<{ bucket: number; sum: string }>(
      `select ${bucketOf(table)} as bucket, count(*) || ' ' || sum(${hashOf(table)}::numeric) as sum ${from} group by 1`,
    );
    const buckets = differences(sums.map((rows) => rows.map(({ bucket, sum }) => [String(bucket), sum] as const)));
    if (buckets.length === 0) continue;
    const hashes = await read<{ key: Key; hash: bigint }>(
      `select ${keyOf(table)} as key, ${hashOf(table)} as hash ${from} and ${bucketOf(table)} = any ($1)`,
      [buckets],
    );
    differing.set(table.name, differences(hashes.map((rows) => rows.map(({ key, hash }) => [key, hash] as const))));
  }
  return { source: there, target: here, differing };
}

/** The names whose values are not the same on both sides. */
function differences(sides: readonly (readonly (readonly [string, string | bigint])[])[]): string[] {
  const [there, here] = sides.map((side) => new Map(side)) as [Map<string, unknown>, Map<string, unknown>];
  return [...new Set([...there.keys(), ...here.keys()])].filter((name) => there.get(name) !== here.get(name));
}

async function oldestRunning(session: AdminSession): Promise<string> {
  const [row] = await session.query<{ oldest: string }>(
    'select pg_snapshot_xmin(pg_current_snapshot())::xid::text as oldest',
  );
  return row!.oldest;
}

/**
 * The tables whose rows of a workspace differ between source and target. Both are closed, and the target has followed. Compares the number
 * of the rows, and those that changed on either side since the baseline, or differed then.
 *
 * @param timeoutMs of each statement
 * @param closedAt by the clock of the source: the network of a sandbox may receive a payment later, which the target submits again
 */
export async function differingTables(
  { source, target }: MoveSessions,
  workspaceId: number,
  {
    baseline,
    timeoutMs,
    closedAt,
  }: { readonly baseline: Baseline; readonly timeoutMs: number; readonly closedAt: string },
): Promise<readonly string[]> {
  const tables = await tablesOfWorkspace(source);
  const changed = (session: AdminSession, since: string) =>
    ofEachTable(session, workspaceId, timeoutMs, tables, (table) => ({
      text: `select count(*)::text as sum, coalesce(json_agg(${keyOf(table)}) filter (where ${isChangedSince(since)}), '[]') as keys
             from ${qualified(table.name)} where ${table.condition(workspaceId)}${networkUntil(table, closedAt)}`,
      values: [],
    }));
  const [there, here] = await Promise.all([changed(source, baseline.source), changed(target, baseline.target)]);
  const keys = new Map(
    tables.map(({ name }, at) => [
      name,
      [...new Set([...there[at]!.keys, ...here[at]!.keys, ...(baseline.differing.get(name) ?? [])])],
    ]),
  );
  const sums = (session: AdminSession) =>
    ofEachTable(session, workspaceId, timeoutMs, tables, (table) => ({
      text: `select count(*) || ' ' || coalesce(sum(${hashOf(table)}::numeric), 0) as sum, '[]'::json as keys
             from ${qualified(table.name)}
             where (${list(table.key)}) in (select ${typedKeys(table)} from json_array_elements_text($1::json) as k (key))
               and ${table.condition(workspaceId)}${networkUntil(table, closedAt)}`,
      values: [JSON.stringify(keys.get(table.name))],
    }));
  const [sumsThere, sumsHere] = await Promise.all([sums(source), sums(target)]);
  return tables
    .filter((_, at) => there[at]!.sum !== here[at]!.sum || sumsThere[at]!.sum !== sumsHere[at]!.sum)
    .map(({ name }) => name);
}

/** A row that was frozen long ago keeps its number. Half of all numbers seem to be ahead, so that its age may be negative. */
const isChangedSince = (since: string) => `age(xmin) between -${AHEAD_MAX} and age('${Number(since)}'::xid)`;

/** The columns of a key, of the types that the table has. */
const typedKeys = ({ key, keyTypes }: MovedTable) =>
  key.map((_, at) => `((k.key::json) ->> ${at})::${keyTypes[at]!}`).join(', ');

interface OfTable {
  readonly sum: string;
  readonly keys: readonly Key[];
}

/** One statement for each table, all of one database transaction. */
async function ofEachTable(
  session: AdminSession,
  workspaceId: number,
  timeoutMs: number,
  tables: readonly MovedTable[],
  statementOf: (table: MovedTable) => { readonly text: string; readonly values: readonly unknown[] },
): Promise<readonly OfTable[]> {
  return asOwnerOf(session, workspaceId, async () => {
    await set(session, timeoutMs);
    const results: OfTable[] = [];
    for (const table of tables) {
      const { text, values } = statementOf(table);
      results.push((await session.query<OfTable>(text, values))[0]!);
    }
    return results;
  });
}

function rowsOf<Row extends object>(
  session: AdminSession,
  workspaceId: number,
  timeoutMs: number,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  return asOwnerOf(session, workspaceId, async () => {
    await set(session, timeoutMs);
    return session.query<Row>(text, values);
  });
}

/** @param timeoutMs of each statement; 0 for none */
const set = (session: AdminSession, timeoutMs: number) =>
  session.query(SETTINGS, [String(Math.max(0, Math.ceil(timeoutMs)))]);

function networkUntil({ name }: MovedTable, closedAt: string): string {
  const until = `accepted_at <= '${new Date(closedAt).toISOString()}'::timestamptz`;
  if (name === 'sandbox_rail_payment') return ` and ${until}`;
  if (name !== 'sandbox_rail_event') return '';
  return ` and key in (select p.key from ${SCHEMA}.sandbox_rail_payment p where ${until})`;
}
