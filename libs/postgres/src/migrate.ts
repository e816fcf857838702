import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { actAs } from './act-as-role.js';
import { migrationTableSql, pendingOf, readApplied, type AppliedMigration } from './applied-migrations.js';
import { applyMigration, type ApplyOptions, LOCK_TIMEOUT_MS } from './apply-migration.js';
import { connectClient } from './connect-client.js';
import { asUnavailable, unavailable } from './failures.js';
import { withLockTimeout } from './lock-timeout.js';
import { readMigrations, type Migration, type MigrationFolder } from './migration-files.js';
import type { MigrationPhase } from './migration-phase.js';
import { ensureRolesAndSchema, type MigrationRoles } from './migration-roles.js';
import { readConnectedProcesses, type ConnectedProcesses } from './older-processes.js';
import type { Release } from './release.js';
import { MIGRATION_LOCK_POLL_MS } from './retry-policies.js';
import type { ConnectionOptions } from './hosts.js';

export { MigrationError } from './migration-files.js';

export interface MigrationOptions extends MigrationRoles, ApplyOptions {
  readonly connection: ConnectionOptions;
  readonly migrations: MigrationFolder;
  readonly log?: (line: string) => void;
  /** Of this program. Without it, a database with migrations that this program does not know is refused. */
  readonly release?: Release;
}

/** What `migrate` would do. */
export interface MigrationPlan {
  /** The phase is undefined up to the baseline. */
  readonly pending: readonly { readonly name: string; readonly phase: MigrationPhase | undefined }[];
  /** Whether the database has no migrations yet, so that no process uses it. */
  readonly isNew: boolean;
  readonly connected: readonly ConnectedProcesses[];
}

/**
 * Brings a database up to date: the roles and the schema, then every file that has not been applied, as the owner role. Each runs in a
 * database transaction of its own, or outside of one where it is marked so. Of several processes that migrate, one works and the others wait.
 *
 * @returns the names of the files applied now.
 * @throws MigrationError when the files do not fit the database, the login lacks a right, or a lock was not available in time; the
 *   message states what to do.
 * @throws Refusal `unavailable` when the server cannot be reached.
 * @throws DatabaseError for a mistake in a file; that file and those after it have not been applied.
 */
export async function migrate(options: MigrationOptions): Promise<{ applied: string[] }> {
  const files = await readMigrations(options.migrations);
  return withClient(options, async (client) => {
    // Notices are about names that do not exist yet.
    await client.query('set statement_timeout = 0; set client_min_messages = warning');
    await lockMigrations(client, options);
    const applied = await prepare(client, options);
    const pending = pendingOf(files, applied, options.release);
    if (pending.length > 0) options.log?.(`applying ${describeMigrations(pending)}`);
    for (const migration of pending) await applyMigration(client, options, migration);
    return { applied: pending.map((migration) => migration.name) };
  });
}

/**
 * The files that have not been applied yet, and the processes that are connected. Changes nothing; the login must be able to act as the
 * app role.
 *
 * @throws as `migrate` does.
 */
export async function planMigrations(options: MigrationOptions): Promise<MigrationPlan> {
  const files = await readMigrations(options.migrations);
  return withClient(options, async (client) => {
    const connected = await readConnectedProcesses(client);
    const { rows } = await client.query(
      `select from pg_class c join pg_namespace n on n.oid = c.relnamespace where nspname = $1 and relname = $2`,
      [options.schema, 'schema_migration'],
    );
    if (rows.length === 0) return { pending: files.map(withPhase), isNew: true, connected };
    const applied = await actAs(client, options.appRole, options.schema, () => readApplied(client));
    return { pending: pendingOf(files, applied, options.release).map(withPhase), isNew: false, connected };
  });
}

const withPhase = ({ name, phase }: Migration) => ({ name, phase });

/** The names of the files that have not been applied yet. @throws as `planMigrations` does. */
export async function pendingMigrations(options: MigrationOptions): Promise<string[]> {
  return (await planMigrations(options)).pending.map(({ name }) => name);
}

async function withClient<T>(options: MigrationOptions, use: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectClient(options.connection, { application_name: 'banking-migrate' });
  let isBroken = false;
  client.on('error', () => (isBroken = true));
  client.on('notice', (notice) => options.log?.(notice.message ?? ''));
  try {
    return await use(client);
  } catch (error) {
    throw isBroken ? unavailable('The database is temporarily unavailable.', error) : asUnavailable(error);
  } finally {
    await client.end();
  }
}

/**
 * Waits until no other process migrates this schema. It polls, because a statement that waits for the lock has a snapshot, and a
 * concurrent build of an index in the other process would wait for the end of that snapshot.
 */
async function lockMigrations(client: Client, { schema, log }: MigrationOptions): Promise<void> {
  for (let isWaiting = false; ; isWaiting = true) {
    const { rows } = await client.query<{ isLocked: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 0)) as "isLocked"',
      [`migrate ${schema}`],
    );
    if (rows[0]?.isLocked) return;
    if (!isWaiting) log?.('waiting for another process that migrates this database');
    await pause(MIGRATION_LOCK_POLL_MS);
  }
}

/** One line, also for a new database: `3 migrations: 0001-deployment.sql to 0003-directory.sql`. */
function describeMigrations(pending: readonly Migration[]): string {
  const names = [...new Set([pending.at(0)?.name, pending.at(-1)?.name])].join(' to ');
  return `${pending.length} ${pending.length === 1 ? 'migration' : 'migrations'}: ${names}`;
}

/** Ensures that the roles, the schema and `schema_migration` exist. Returns the applied migrations. */
function prepare(client: Client, options: MigrationOptions): Promise<AppliedMigration[]> {
  const { schema, ownerRole, lockTimeoutMs: timeoutMs = LOCK_TIMEOUT_MS, log } = options;
  return withLockTimeout(client, { timeoutMs, schema, what: 'The migration', isOutside: false }, async () => {
    await ensureRolesAndSchema(client, options, log);
    return actAs(client, ownerRole, schema, async () => {
      await client.query(migrationTableSql(options));
      return readApplied(client);
    });
  });
}
