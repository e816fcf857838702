import { setTimeout as pause } from 'node:timers/promises';
import { type Client, escapeIdentifier as quoted } from 'pg';
import { actAs } from './act-as-role.js';
import { applyMigration, LOCK_TIMEOUT_MS } from './apply-migration.js';
import { connectClient } from './connect-client.js';
import { asUnavailable, unavailable } from './failures.js';
import { withLockTimeout } from './lock-timeout.js';
import { MigrationError, readMigrations, type Migration } from './migration-files.js';
import { ensureRolesAndSchema, type MigrationRoles } from './migration-roles.js';
import { MIGRATION_LOCK_POLL_MS } from './retry-policies.js';
import type { ConnectionOptions } from './hosts.js';

export { MigrationError } from './migration-files.js';

/** A folder of files `NNNN-title.sql`. */
type MigrationFolder = string;

export interface MigrationOptions extends MigrationRoles {
  readonly connection: ConnectionOptions;
  readonly folders: readonly MigrationFolder[];
  readonly log?: (line: string) => void;
  /** Custom configuration parameters that migrations read with `current_setting`, such as `{ 'banking.sandbox': 'on' }`. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Allows gaps between the numbers: for the tests of a library that has only its own folders. */
  readonly isPartial?: boolean;
  /** How long a statement may wait for a lock. Default: 2 s in a database transaction, a minute outside. */
  readonly lockTimeoutMs?: number;
}

/** The record of an applied migration. */
interface Applied {
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
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
  const files = await readMigrations(options.folders, options);
  return withClient(options, async (client) => {
    await client.query('set statement_timeout = 0');
    await lockMigrations(client, options);
    const applied = await prepare(client, options);
    const pending = pendingOf(files, applied);
    for (const migration of pending) {
      options.log?.(`applying ${migration.name}`);
      await applyMigration(client, options, migration);
    }
    return { applied: pending.map((migration) => migration.name) };
  });
}

/**
 * The names of the files that have not been applied yet. Changes nothing; the login must be able to act as the app role.
 *
 * @throws as `migrate` does.
 */
export async function pendingMigrations(options: MigrationOptions): Promise<string[]> {
  const files = await readMigrations(options.folders, options);
  return withClient(options, async (client) => {
    const { rows } = await client.query(
      `select from pg_class c join pg_namespace n on n.oid = c.relnamespace where nspname = $1 and relname = $2`,
      [options.schema, 'schema_migration'],
    );
    if (rows.length === 0) return files.map((migration) => migration.name);
    const applied = await actAs(client, options.appRole, options.schema, () => readApplied(client));
    return pendingOf(files, applied).map((migration) => migration.name);
  });
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

/** Ensures that the roles, the schema and `schema_migration` exist. Returns the applied migrations. */
function prepare(client: Client, options: MigrationOptions): Promise<Applied[]> {
  const { schema, ownerRole, lockTimeoutMs: timeoutMs = LOCK_TIMEOUT_MS, log } = options;
  return withLockTimeout(client, { timeoutMs, schema, what: 'The migration', isOutside: false }, async () => {
    await ensureRolesAndSchema(client, options, log);
    return actAs(client, ownerRole, schema, async () => {
      await client.query(migrationTableSql(options));
      return readApplied(client);
    });
  });
}

function migrationTableSql({ schema, appRole, provisioningRole }: MigrationRoles): string {
  return `
    grant usage on schema ${quoted(schema)} to ${quoted(appRole)}, ${quoted(provisioningRole)};
    create table if not exists schema_migration (
      number int primary key,
      name text not null,
      sha256 text not null,
      applied_at timestamptz not null default now(),
      applied_by text not null default session_user
    );
    grant select on schema_migration to ${quoted(appRole)};`;
}

async function readApplied(client: Client): Promise<Applied[]> {
  const { rows } = await client.query<Applied>('select number, name, sha256 from schema_migration order by number');
  return rows;
}

/** The files to apply. @throws MigrationError where the applied ones differ from the files. */
function pendingOf(files: readonly Migration[], applied: readonly Applied[]): Migration[] {
  for (const one of applied) {
    const file = files.find((migration) => migration.number === one.number);
    if (file === undefined) {
      throw new MigrationError(
        `The database is newer than this program: it has ${one.name}, which this program does not know. Run a newer one.`,
      );
    }
    if (file.sha256 !== one.sha256) {
      throw new MigrationError(
        `${file.name} has changed since it was applied (as ${one.name}). Restore it, and put the change into a new file.`,
      );
    }
  }
  return files.filter((file) => !applied.some(({ number }) => number === file.number));
}
