import { type AdminSession, quoteName } from '@banking/postgres';
import { DeploymentError } from '../deployment-error.js';
import { asLogin } from './as-login.js';
import { type MovedTable, ofWorkspace, qualified, tablesOfWorkspace } from './tables-of-workspace.js';

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
  for (const table of await tablesToEmpty(session)) {
    let after: string | null = null;
    do {
      signal?.throwIfAborted();
      const batch: Batch = await removeBatch(session, workspaceId, table, after);
      removed += batch.rows;
      after = batch.rows === BATCH ? batch.last : null;
      if (batch.rows > 0) onProgress(removed);
    } while (after !== null);
  }
  return removed;
}

type EmptiedTable = Pick<MovedTable, 'name' | 'condition' | 'key' | 'keyTypes'>;

async function tablesToEmpty(session: AdminSession): Promise<readonly EmptiedTable[]> {
  const tables = await tablesOfWorkspace(session);
  return [...tables, { name: 'account_code', condition: ofWorkspace, key: ['code'], keyTypes: ['text'] }];
}

interface Batch {
  readonly rows: number;
  /** The key of the last row, as JSON. */
  readonly last: string | null;
}

/** @param after the last key of the batch before, because its rows are in the way of a search until a vacuum */
function removeBatch(
  session: AdminSession,
  workspaceId: number,
  { name, condition, key, keyTypes }: EmptiedTable,
  after: string | null,
): Promise<Batch> {
  const columns = key.map(quoteName).join(', ');
  const values = keyTypes.map((type, at) => `($1::json ->> ${at})::${type}`).join(', ');
  const backwards = key.map((column) => `${quoteName(column)} desc`).join(', ');
  return asLogin(session, async () => {
    await session.query('set local session_replication_role = replica');
    const [served] = await session.query<{ state: string }>(
      'select state from cell_workspace where workspace_id = $1 for update',
      [workspaceId],
    );
    if (served?.state === 'open') {
      throw new DeploymentError(`Workspace ${workspaceId} is open in this database. Its rows are not removed.`);
    }
    const [removed] = await session.query<Batch>(
      `with batch as materialized (
         select ctid as place, ${columns} from ${qualified(name)}
         where ${condition(workspaceId)} and ($1::json is null or (${columns}) > (${values})) order by ${columns} limit ${BATCH}),
       removed as (delete from ${qualified(name)} where ctid = any (array (select place from batch)))
       select (select count(*)::int from batch) as rows,
              (select json_build_array(${columns})::text from batch order by ${backwards} limit 1) as last`,
      [after],
    );
    return removed!;
  });
}
