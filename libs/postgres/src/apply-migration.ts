import type { Client } from 'pg';
import { actAs, actOutsideAs } from './act-as-role.js';
import type { AdminSession } from './admin-session.js';
import { recordMigration } from './applied-migrations.js';
import { columnTypes } from './column-types.js';
import { withLockTimeout } from './lock-timeout.js';
import { refuseOlderProcesses } from './older-processes.js';
import { MigrationError, type Migration } from './migration-files.js';

export interface ApplyOptions {
  readonly schema: string;
  readonly ownerRole: string;
  /** Custom configuration parameters that migrations read with `current_setting`, such as `{ 'banking.sandbox': 'on' }`. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** How long a statement may wait for a lock. Default: 2 s in a database transaction, a minute outside. */
  readonly lockTimeoutMs?: number;
  /** Applies a contract migration also while processes are connected that it breaks. Default false. */
  readonly isIgnoringOlder?: boolean;
  /** Ends each migration: as the owner role, in the database transaction that records it. */
  readonly afterEach?: (session: Pick<AdminSession, 'query'>) => Promise<void>;
}

/** While a statement waits for a lock on a table, requests of the service wait behind it. */
export const LOCK_TIMEOUT_MS = 2_000;
/** A concurrent build waits for running database transactions and blocks no other statement. */
const OUTSIDE_LOCK_TIMEOUT_MS = 60_000;

/**
 * Applies one file as the owner role and records it: in one database transaction, or statement by statement where the file is marked
 * to run outside of one. Such a file is recorded when all of it has succeeded; until then it runs again from its first statement.
 *
 * @throws MigrationError when the file ends its database transaction, a lock was not available in time, or processes are connected
 *   that a contract migration would break
 * @throws DatabaseError for a mistake in the file, with its name as `migration`
 */
export async function applyMigration(client: Client, options: ApplyOptions, migration: Migration): Promise<void> {
  const { ownerRole, schema } = options;
  const { name, text, statements } = migration;
  const isOutside = statements !== undefined;
  const timeoutMs = options.lockTimeoutMs ?? (isOutside ? OUTSIDE_LOCK_TIMEOUT_MS : LOCK_TIMEOUT_MS);
  const apply = async () => {
    if (statements !== undefined) {
      if (options.isIgnoringOlder !== true) await refuseOlderProcesses(client, migration);
      await actOutsideAs(client, ownerRole, schema, async () => {
        for (const statement of statements) await client.query(statement);
      });
    }
    await actAs(client, ownerRole, schema, async () => {
      for (const parameter of Object.entries(options.parameters ?? {})) {
        await client.query('select set_config($1, $2, true)', parameter);
      }
      if (statements === undefined) {
        if (options.isIgnoringOlder !== true) await refuseOlderProcesses(client, migration);
        await client.query(text);
      }
      if (client.getTransactionStatus() !== 'T') {
        throw new MigrationError(`${name} must not end its database transaction: leave out begin and commit.`);
      }
      await options.afterEach?.({ query: (sql, values) => rowsOf(client, sql, values) });
      await recordMigration(client, migration);
    });
  };
  try {
    await withLockTimeout(client, { timeoutMs, schema, what: name, isOutside }, apply);
  } catch (error) {
    throw error instanceof Error ? Object.assign(error, { migration: name }) : error;
  }
}

async function rowsOf<Row extends object>(
  client: Client,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  return (await client.query<Row>({ text, values: [...values], types: columnTypes })).rows;
}
