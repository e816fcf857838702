import { type AdminSession, OWNER_ROLE, SCHEMA } from '@banking/postgres';

/** Runs work in one database transaction as the owner of the tables, for tables without row-level security. */
export const asOwner = <T>(session: AdminSession, work: () => Promise<T>): Promise<T> =>
  session.actAs(OWNER_ROLE, SCHEMA, work);

/** The same for the rows of one workspace: row-level security binds the owner too, and hides those of all others. */
export function asOwnerOf<T>(session: AdminSession, workspaceId: number, work: () => Promise<T>): Promise<T> {
  return asOwner(session, async () => {
    await session.query(`select set_config('app.workspaces', $1, true)`, [`{${workspaceId}}`]);
    return work();
  });
}

/**
 * Runs work in one database transaction as the login itself, which bypasses row-level security: some tables have no policy by which their
 * owner could delete rows.
 */
export function asLogin<T>(session: AdminSession, work: () => Promise<T>): Promise<T> {
  return session.inTransaction(async () => {
    await session.query(`set local search_path = ${SCHEMA}`);
    return work();
  });
}
