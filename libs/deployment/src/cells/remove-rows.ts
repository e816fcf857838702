import type { AdminSession } from '@banking/postgres';
import { DeploymentError } from '../deployment-error.js';
import { asLogin } from './as-login.js';
import { qualified, tablesOfWorkspace, wholeNumber } from './tables-of-workspace.js';

/** Each batch is a database transaction of its own, so that it holds its locks for a short time. */
const BATCH = 5_000;

/** Whether the database has rows of a workspace, in a table that moves. */
export async function hasRows(session: AdminSession, workspaceId: number): Promise<boolean> {
  for (const { name, condition } of await tablesToEmpty(session)) {
    const [row] = await session.query<{ exists: boolean }>(
      `select exists (select from ${qualified(name)} where ${condition(workspaceId)}) as exists`,
    );
    if (row?.exists === true) return true;
  }
  return false;
}

/**
 * Removes the rows of a workspace from a database that does not serve it. Records of the books are append-only, which triggers and foreign
 * keys ensure: they are switched off for each batch, in its session alone, so the login needs that right. May be repeated.
 *
 * @returns the number of rows removed
 * @throws DeploymentError if the database serves the workspace
 */
export async function removeRows(
  session: AdminSession,
  workspaceId: number,
  onProgress: (rows: number) => void = () => undefined,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (const { name, condition } of await tablesToEmpty(session)) {
    for (let batch = BATCH; batch === BATCH;) {
      signal?.throwIfAborted();
      batch = await removeBatch(session, workspaceId, qualified(name), condition(workspaceId));
      removed += batch;
      if (batch > 0) onProgress(removed);
    }
  }
  return removed;
}

async function tablesToEmpty(session: AdminSession) {
  const tables = await tablesOfWorkspace(session);
  const byWorkspace = (workspaceId: number) => `workspace_id = ${wholeNumber(workspaceId)}`;
  return [...tables, { name: 'account_code', condition: byWorkspace }];
}

function removeBatch(session: AdminSession, workspaceId: number, table: string, condition: string): Promise<number> {
  return asLogin(session, async () => {
    await session.query('set local session_replication_role = replica');
    const [served] = await session.query<{ state: string }>(
      'select state from cell_workspace where workspace_id = $1 for update',
      [workspaceId],
    );
    if (served?.state === 'open') {
      throw new DeploymentError(`Workspace ${workspaceId} is open in this database. Its rows are not removed.`);
    }
    const [removed] = await session.query<{ rows: number }>(
      `with removed as (delete from ${table} where ctid = any (array (select ctid from ${table} where ${condition} limit ${BATCH})) returning 1)
       select count(*)::int as rows from removed`,
    );
    return removed!.rows;
  });
}
