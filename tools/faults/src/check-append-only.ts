import type { Violation } from './check-orders.js';
import type { DatabaseServer } from './database-server.js';

/** The books, which the role of the service may add to and never change. */
const TABLES = ['transfer', 'transaction', 'conversion', 'remittance_event', 'account_change'];

/** A trigger refuses the change with BK003, or the role lacks the right (42501). */
const REFUSED = ['42501', 'BK003'];

const CHANGES = TABLES.flatMap((table) => [
  `update ${table} set workspace_id = workspace_id`,
  `delete from ${table}`,
  `truncate ${table}`,
]);

export interface AppendOnly {
  /** Changes that the database refused. */
  readonly refused: number;
  readonly violations: readonly Violation[];
}

/** Tries to change the books as the role of the service. Every attempt is rolled back. */
export async function checkAppendOnly(database: DatabaseServer): Promise<AppendOnly> {
  const client = await database.connect();
  const violations: Violation[] = [];
  try {
    await client.query('set search_path = banking, pg_temp');
    for (const change of CHANGES) {
      await client.query('begin');
      await client.query('set local role banking_app');
      const code = await client.query(change).then(
        () => undefined,
        (error: { code?: string }) => error.code ?? 'unknown',
      );
      await client.query('rollback');
      if (code === undefined || !REFUSED.includes(code)) {
        violations.push({ check: 'append-only', detail: `"${change}" as banking_app: ${code ?? 'was allowed'}` });
      }
    }
  } finally {
    await client.end();
  }
  return { refused: CHANGES.length - violations.length, violations };
}
