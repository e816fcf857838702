import { type AdminSession, OWNER_ROLE, quoteName, SCHEMA } from '@banking/postgres';
import { type MovedTable, qualified, tablesOfWorkspace } from './tables-of-workspace.js';
import type { MoveSessions } from './move-settings.js';

/** Number and sum of the rows of a table, which depend on their content and not on their order. */
type Sums = ReadonlyMap<string, string>;

/**
 * The tables whose rows of a workspace differ between source and target. Both are closed, and the target has followed.
 *
 * @param timeoutMs of each statement
 * @param closedAt by the clock of the source: the network of a sandbox may receive a payment later, which the target submits again
 */
export async function differingTables(
  { source, target }: MoveSessions,
  workspaceId: number,
  timeoutMs: number,
  closedAt: string,
): Promise<readonly string[]> {
  const tables = await tablesOfWorkspace(source);
  const sums = (session: AdminSession) => sumsOf(session, tables, workspaceId, timeoutMs, closedAt);
  const [there, here] = await Promise.all([sums(source), sums(target)]);
  return tables.map(({ name }) => name).filter((name) => there.get(name) !== here.get(name));
}

/** The text of a row must not depend on the settings of a server. */
const SETTINGS = `select set_config('app.workspaces', $1, true), set_config('statement_timeout', $2, true),
  set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO', true), set_config('intervalstyle', 'postgres', true),
  set_config('extra_float_digits', '1', true), set_config('bytea_output', 'hex', true)`;

/** One snapshot of all tables. */
function sumsOf(
  session: AdminSession,
  tables: readonly MovedTable[],
  workspaceId: number,
  timeoutMs: number,
  closedAt: string,
): Promise<Sums> {
  return session.actAs(OWNER_ROLE, SCHEMA, async () => {
    await session.query(SETTINGS, [`{${workspaceId}}`, String(Math.max(1, Math.ceil(timeoutMs)))]);
    const sums = new Map<string, string>();
    for (const table of tables) {
      const columns = table.compared.map(quoteName).join(', ');
      const [sum] = await session.query<{ sum: string }>(
        `select count(*) || ' ' || coalesce(sum(('x' || left(md5(row (${columns})::text), 16))::bit(64)::bigint::numeric), 0) as sum
         from ${qualified(table.name)} where ${table.condition(workspaceId)}${networkUntil(table.name)}`,
        table.name.startsWith('sandbox_rail_') ? [closedAt] : [],
      );
      sums.set(table.name, sum!.sum);
    }
    return sums;
  });
}

function networkUntil(table: string): string {
  if (table === 'sandbox_rail_payment') return ' and accepted_at <= $1::timestamptz';
  if (table !== 'sandbox_rail_event') return '';
  return ` and key in (select p.key from ${SCHEMA}.sandbox_rail_payment p where p.accepted_at <= $1::timestamptz)`;
}
