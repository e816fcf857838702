import { bind, type Database, isServedElsewhere, sqlStatement } from '@banking/postgres';

const WORKSPACES_MAX = 20;
/** Of each endpoint and status. */
const ROWS_MAX = 500;

const WORKSPACES = sqlStatement<{ id: bigint }>(
  'workspaces_with_old_deliveries',
  'select workspaces_with_old_deliveries($1, $2) as id',
);
const DELETE = sqlStatement<{ deleted: number }>(
  'delete_old_deliveries',
  'select delete_old_deliveries($1, $2) as deleted',
);

/**
 * Deletes a batch of deliveries that ended and are older than the kept time: a chore of the worker.
 *
 * @param keptDays at least 1
 * @returns how many, 0 if none is left
 * @throws Refusal `unavailable`
 */
export async function deleteOldDeliveries(database: Database, keptDays: number): Promise<number> {
  const [rows] = await database.pipeline({}, [bind(WORKSPACES, keptDays, WORKSPACES_MAX)] as const);
  if (rows.length === 0) return 0;
  const workspaces = rows.map(({ id }) => Number(id));
  try {
    const [[row]] = await database.pipeline({ workspaces }, [bind(DELETE, keptDays, ROWS_MAX)] as const);
    return row?.deleted ?? 0;
  } catch (error) {
    // A workspace has left this database meanwhile. The next run leaves it out.
    if (isServedElsewhere(error)) return 0;
    throw error;
  }
}
