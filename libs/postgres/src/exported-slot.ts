import { type ClientConfig, escapeIdentifier, escapeLiteral } from 'pg';
import { type AdminSession, connectClient, withAdminSession } from './admin-session.js';
import type { ConnectionOptions } from './session-pool.js';

/**
 * Makes a slot of logical replication, and runs work in a database transaction that reads the rows as they were where the slot begins: the
 * rows and what the slot sends together are everything, once. The login needs the right to replicate.
 *
 * @param role the role that reads the rows
 */
export async function withNewSlot<T>(
  connection: ConnectionOptions,
  { slot, role, schema }: { readonly slot: string; readonly role: string; readonly schema: string },
  work: (rows: AdminSession['query']) => Promise<T>,
): Promise<T> {
  // Only the protocol of replication exports the snapshot. It is valid while this connection does nothing else.
  const exporting: ClientConfig & { readonly replication: 'database' } = {
    application_name: 'banking-admin',
    replication: 'database',
  };
  const exporter = await connectClient(connection, exporting);
  try {
    const { rows } = await exporter.query<{ snapshot_name: string }>(
      `CREATE_REPLICATION_SLOT ${escapeIdentifier(slot)} LOGICAL pgoutput (SNAPSHOT 'export')`,
    );
    return await withAdminSession(connection, (session) =>
      session.actAs(role, schema, async () => {
        await session.query('set transaction isolation level repeatable read, read only');
        await session.query(`set transaction snapshot ${escapeLiteral(rows[0]!.snapshot_name)}`);
        return work(session.query);
      }),
    );
  } finally {
    await exporter.end();
  }
}
