import { type AdminSession, SCHEMA } from '@banking/postgres';

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
