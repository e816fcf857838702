import { setTimeout as pause } from 'node:timers/promises';
import { type Client, escapeIdentifier as quoted, DatabaseError } from 'pg';
import { actAs, actOutsideAs, connectClient, firstRoleOf, type AdminSession } from './admin-session.js';
import {
  asUnavailable,
  DatabaseEncodingError,
  DatabaseSetupError,
  ENCODING,
  TRIGGERS_OFF,
  unavailable,
} from './failures.js';
import {
  readMigrations,
  type Migration,
  type MigrationFolder,
  MigrationError,
  type MigrationPhase,
} from './migration-files.js';
import { ensureRolesAndSchema, type MigrationRoles } from './migration-roles.js';
import { readConnectedProcesses, type ConnectedProcesses, refuseOlderProcesses } from './older-processes.js';
import { type Release, isAtLeast } from './release.js';
import { MIGRATION_LOCK_POLL_MS } from './backoff.js';
import type { ConnectionOptions } from './session-pool.js';
import { columnTypes } from './sql-statement.js';
import { SET_LANGUAGE } from './session-setup.js';
import { SQLSTATE } from './sqlstate.js';

export { MigrationError } from './migration-files.js';

export interface MigrationOptions extends MigrationRoles, ApplyOptions {
  readonly connection: ConnectionOptions;
  readonly migrations: MigrationFolder;
  readonly log?: (line: string) => void;
  /** Of this program. Without it, a database with migrations that this program does not know is refused. */
  readonly release?: Release;
  /** Ends the work before the next file, or while another process migrates. */
  readonly signal?: AbortSignal;
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
 * @throws DatabaseEncodingError for a database that is not UTF8.
 * @throws Refusal `unavailable` when the server cannot be reached.
 * @throws DatabaseError for a mistake in a file; that file and those after it have not been applied.
 * @throws the reason of the signal; the files that were not applied are applied by the next call.
 */
export async function migrate(options: MigrationOptions): Promise<{ applied: string[] }> {
  const files = await readMigrations(options.migrations);
  return withClient(options, async (client) => {
    // A migration may take long, and must not depend on what is set for the database or the login. Notices are about names that do not exist
    // yet. Only here: a pooler in transaction mode would hand these settings to other sessions, and a service plans through one.
    await client.query(
      `${SET_LANGUAGE}; set statement_timeout = 0; set default_transaction_isolation = 'read committed'; set client_min_messages = warning`,
    );
    await lockMigrations(client, options);
    const applied = await prepare(client, options);
    const pending = pendingOf(files, applied, options.release);
    if (pending.length > 0) options.log?.(`applying ${describeMigrations(pending)}`);
    for (const migration of pending) {
      options.signal?.throwIfAborted();
      await applyMigration(client, options, migration);
    }
    return { applied: pending.map((migration) => migration.name) };
  });
}

/**
 * The files that have not been applied yet, and the processes that are connected. Changes nothing; the login must be able to act as one
 * of the roles.
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
    const role = await firstRoleOf(client, options.roles);
    const applied = await actAs(client, role, options.schema, () => readApplied(client));
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
    await requireServer(client);
    return await use(client);
  } catch (error) {
    throw isBroken ? unavailable('The database is temporarily unavailable.', error) : asUnavailable(error);
  } finally {
    await client.end();
  }
}

async function requireServer(client: Client): Promise<void> {
  const { rows } = await client.query<{ encoding: string; replication_role: string }>(
    `select current_setting('server_encoding') as encoding, current_setting('session_replication_role') as replication_role`,
  );
  const { encoding = '', replication_role: replicationRole } = rows[0] ?? {};
  if (encoding !== ENCODING) throw new DatabaseEncodingError(encoding);
  if (replicationRole !== 'origin') throw new DatabaseSetupError(TRIGGERS_OFF);
}

/**
 * Waits until no other process migrates this schema. It polls, because a statement that waits for the lock has a snapshot, and a
 * concurrent build of an index in the other process would wait for the end of that snapshot.
 */
async function lockMigrations(client: Client, { schema, log, signal }: MigrationOptions): Promise<void> {
  for (let isWaiting = false; ; isWaiting = true) {
    const { rows } = await client.query<{ isLocked: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 0)) as "isLocked"',
      [`migrate ${schema}`],
    );
    if (rows[0]?.isLocked) return;
    if (!isWaiting) log?.('waiting for another process that migrates this database');
    await pause(MIGRATION_LOCK_POLL_MS);
    signal?.throwIfAborted();
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

/** The record of an applied migration. The phase is null up to the baseline, and the release but for a contract. */
interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
  readonly phase: string | null;
  readonly since: Release | null;
}

function migrationTableSql({ schema, roles }: MigrationRoles): string {
  const users = roles.map(quoted).join(', ');
  // PostgreSQL reports each part that exists already.
  return `
    set local client_min_messages = warning;
    grant usage on schema ${quoted(schema)} to ${users};
    create table if not exists schema_migration (
      number int primary key,
      name text not null,
      sha256 text not null,
      applied_at timestamptz not null default now(),
      applied_by text not null default session_user,
      phase text,
      since text
    );
    grant select on schema_migration to ${users};`;
}

async function readApplied(client: Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<AppliedMigration>(
    'select number, name, sha256, phase, since from schema_migration order by number',
  );
  return rows;
}

async function recordMigration(client: Client, { number, name, sha256, phase }: Migration): Promise<void> {
  await client.query('insert into schema_migration (number, name, sha256, phase, since) values ($1, $2, $3, $4, $5)', [
    ...[number, name, sha256],
    ...[phase?.name, phase?.name === 'contract' ? phase.since : undefined],
  ]);
}

/**
 * The files to apply.
 *
 * @param release of this program. Without it, a database with migrations that the program does not know is refused.
 * @throws MigrationError where an applied file has changed, or the database does not support this program any more
 */
function pendingOf(
  files: readonly Migration[],
  applied: readonly AppliedMigration[],
  release: Release | undefined,
): Migration[] {
  const unknown: AppliedMigration[] = [];
  for (const one of applied) {
    const file = files.find((migration) => migration.number === one.number);
    if (file === undefined) {
      requireSupport(one, release);
      unknown.push(one);
    } else if (file.sha256 !== one.sha256) {
      throw new MigrationError(
        `${file.name} has changed since it was applied (as ${one.name}). Restore it, and put the change into a new file.`,
      );
    }
  }
  const pending = files.filter((file) => !applied.some(({ number }) => number === file.number));
  const [first] = unknown;
  if (first !== undefined && pending.length > 0) {
    throw new MigrationError(
      `The database is newer than this program: it has ${first.name}, which this program does not know, and lacks ` +
        `${pending.map(({ name }) => name).join(', ')}. Run a newer program.`,
    );
  }
  return pending;
}

/**
 * Checks that a program may use the schema after a migration that it does not know.
 *
 * @throws MigrationError with the release that is needed
 */
export function requireSupport(
  { name, phase, since }: Pick<AppliedMigration, 'name' | 'phase' | 'since'>,
  release: Release | undefined,
): void {
  if (release !== undefined && phase === 'expand') return;
  if (release !== undefined && phase === 'contract' && since) {
    if (isAtLeast(release, since)) return;
    throw new MigrationError(
      `The database is newer than this program: it has ${name}, after which release ${since} or newer is needed. ` +
        `This is release ${release}. Run release ${since} or newer.`,
    );
  }
  throw new MigrationError(
    `The database is newer than this program: it has ${name}, which this program does not know. Run a newer one.`,
  );
}

interface ApplyOptions {
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
const LOCK_TIMEOUT_MS = 2_000;
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
async function applyMigration(client: Client, options: ApplyOptions, migration: Migration): Promise<void> {
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

interface LockTimeout {
  readonly timeoutMs: number;
  readonly schema: string;
  /** The subject of the error message. */
  readonly what: string;
  /** Whether the work runs outside a database transaction, where a concurrent build of an index waits for older snapshots too. */
  readonly isOutside: boolean;
}

/** A session that has locks on our tables. */
interface LockOwner {
  readonly pid: number;
  readonly login: string | null;
  readonly application: string;
  readonly tables: readonly string[];
}

const NAMED_MAX = 3;

/**
 * Runs work in which no statement waits longer for a lock.
 *
 * @throws MigrationError after such a wait: it names the sessions that may have the lock
 */
async function withLockTimeout<T>(client: Client, limit: LockTimeout, work: () => Promise<T>): Promise<T> {
  await client.query(`set lock_timeout = ${limit.timeoutMs}`);
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== SQLSTATE.lockNotAvailable) throw error;
    const left = limit.isOutside ? 'it begins with its first statement again' : 'nothing of it was applied';
    throw new MigrationError(
      `${limit.what} waited ${limit.timeoutMs / 1000} s for a lock and was given up. ${await describeLockOwners(client, limit)} ` +
        `Wait until such a session has finished, or end it, and run the migration again. That is safe: ${left}.`,
      { cause: error },
    );
  }
}

/** The server does not record which session a statement has waited for, so this reads the present locks. Every login may read them. */
async function describeLockOwners(client: Client, { schema, isOutside }: LockTimeout): Promise<string> {
  const { rows } = await client.query<LockOwner>(
    `select a.pid, a.usename as login, a.application_name as application,
            coalesce(array_agg(distinct c.relname::text) filter (where c.relname is not null), '{}') as tables
       from pg_stat_activity a
       join pg_locks l on l.pid = a.pid and l.granted
       left join pg_class c on c.oid = l.relation and c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'p')
      where a.datname = current_database() and a.pid <> pg_backend_pid()
      group by a.pid, a.usename, a.application_name
     having count(c.oid) > 0 or $2 and bool_or(a.backend_xmin is not null)
      order by count(c.oid) = 0, a.pid`,
    [quoted(schema), isOutside],
  );
  if (rows.length === 0) return 'The session that had the lock has ended since.';
  const more = rows.length > NAMED_MAX ? ` and ${rows.length - NAMED_MAX} more` : '';
  return `In the way may be ${rows.slice(0, NAMED_MAX).map(describe).join(', ')}${more}.`;
}

function describe({ pid, login, application, tables }: LockOwner): string {
  const who = [
    ...(login === null ? [] : [`login ${quoted(login)}`]),
    ...(application === '' ? [] : [`application "${application}"`]),
  ];
  const what = tables.length > 0 ? `locks on ${tables.join(', ')}` : 'an old snapshot';
  return `process ${pid}${who.length > 0 ? ` (${who.join(', ')})` : ''} with ${what}`;
}
