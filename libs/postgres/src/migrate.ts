import { Client, escapeIdentifier as quoted, type QueryResult } from 'pg';
import { connectionFailureOf, outcomeOf, unavailable } from './failures.js';
import { MigrationError, readMigrations, type Migration } from './migration-files.js';
import { layGround, type MigrationRoles } from './migration-roles.js';
import type { ConnectionOptions } from './session-pool.js';

export { MigrationError } from './migration-files.js';

/** A folder of files `NNNN-title.sql`. */
type MigrationFolder = string;

export interface MigrationOptions extends MigrationRoles {
  readonly connection: ConnectionOptions;
  readonly folders: readonly MigrationFolder[];
  readonly log?: (line: string) => void;
  /** Allows gaps between the numbers: for the tests of a library that sees only its own folders. */
  readonly isPartial?: boolean;
}

/** What the database remembers of a migration. */
interface Applied {
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
}

/**
 * Brings a database up to date: the roles and the schema, then every file that has not been applied, each in a database
 * transaction of its own, as the owner role. Several starters may do this at once; one works, the others wait.
 *
 * @returns the names of the files applied now.
 * @throws MigrationError when the files or the database do not fit, or the login may not do it; the message says what to do.
 * @throws Refusal `unavailable` when the server cannot be reached, or something holds a table locked.
 * @throws DatabaseError for a mistake in a file; that file and those after it have not been applied.
 */
export async function migrate(options: MigrationOptions): Promise<{ applied: string[] }> {
  const files = await readMigrations(options.folders, options);
  return withClient(options, async (client) => {
    await client.query('set statement_timeout = 0; set lock_timeout = 0');
    await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [`migrate ${options.schema}`]);
    await client.query(`set lock_timeout = '2s'`);
    await layGround(client, options, options.log);
    const applied = await actAs(client, options.ownerRole, options.schema, async () => {
      await client.query(ledgerOfMigrations(options));
      return readApplied(client);
    });
    const pending = pendingOf(files, applied);
    for (const migration of pending) {
      options.log?.(`applying ${migration.name}`);
      await apply(client, options, migration);
    }
    return { applied: pending.map((migration) => migration.name) };
  });
}

/**
 * The names of the files that have not been applied yet. Changes nothing; any login may ask that may act as the app role.
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
  const client = new Client({
    ...options.connection,
    application_name: 'banking-migrate',
    connectionTimeoutMillis: 10_000,
  });
  let isBroken = false;
  client.on('error', () => (isBroken = true));
  client.on('notice', (notice) => options.log?.(notice.message ?? ''));
  try {
    await client.connect().catch((error: unknown) => Promise.reject(connectionFailureOf(error) as Error));
    return await use(client);
  } catch (error) {
    throw isBroken ? unavailable('The database cannot answer at the moment.', error) : outcomeOf(error);
  } finally {
    await client.end();
  }
}

function ledgerOfMigrations({ schema, appRole, provisioningRole }: MigrationRoles): string {
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

/** What is left to apply, once the past is proven to be the same here and there. */
function pendingOf(files: readonly Migration[], applied: readonly Applied[]): Migration[] {
  for (const past of applied) {
    const file = files.find((migration) => migration.number === past.number);
    if (file === undefined) {
      throw new MigrationError(
        `The database is newer than this program: it has ${past.name}, which this program does not know. Run a newer one.`,
      );
    }
    if (file.sha256 !== past.sha256) {
      throw new MigrationError(
        `${file.name} has changed since it was applied (as ${past.name}). Restore it, and put the change into a new file.`,
      );
    }
  }
  return files.filter((file) => !applied.some((past) => past.number === file.number));
}

async function apply(client: Client, options: MigrationOptions, migration: Migration): Promise<void> {
  try {
    await actAs(client, options.ownerRole, options.schema, async () => {
      await client.query(migration.text);
      if (client.getTransactionStatus() !== 'T') {
        throw new MigrationError(
          `${migration.name} must not end its database transaction: leave out begin and commit.`,
        );
      }
      await client.query('insert into schema_migration (number, name, sha256) values ($1, $2, $3)', [
        migration.number,
        migration.name,
        migration.sha256,
      ]);
    });
  } catch (error) {
    throw error instanceof Error ? Object.assign(error, { migration: migration.name }) : error;
  }
}

/** @throws MigrationError when the login may not, with the SQL that lets it */
async function takeOn(client: Client, role: string): Promise<void> {
  try {
    await client.query(`set local role ${quoted(role)}`);
  } catch (error) {
    if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
    const login = quoted(client.user ?? 'login');
    throw new MigrationError(
      `The login ${login} may not act as ${quoted(role)}. Let an administrator run: grant ${quoted(role)} to ${login};`,
      { cause: error },
    );
  }
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** Does work in one database transaction as another role, with the schema in front. */
async function actAs<T>(client: Client, role: string, schema: string, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    await takeOn(client, role);
    await client.query(`set local search_path = ${quoted(schema)}`);
    const result = await work();
    const { command }: QueryResult = await client.query('commit');
    if (command !== 'COMMIT') throw new MigrationError(`COMMIT answered ${command}: the migration was not applied.`);
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}
