import { type AdminSession, SCHEMA } from '@banking/postgres';

/**
 * Runs work in one database transaction as the login itself, which bypasses row-level security: some tables have no policy by which their
 * owner could delete rows.
 */
export async function asLogin<T>(session: AdminSession, work: () => Promise<T>): Promise<T> {
  await session.query('begin');
  try {
    await session.query(`set local search_path = ${SCHEMA}`);
    const result = await work();
    await session.query('commit');
    return result;
  } catch (error) {
    await session
      .query('rollback')
      .catch(() => undefined); /* The connection may be lost, which is the error to report. */
    throw error;
  }
}
