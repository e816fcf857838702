import { escapeIdentifier as quoted, type Client } from 'pg';
import { MigrationError, type Migration } from './migration-files.js';
import type { MigrationRoles } from './migration-roles.js';
import { isAtLeast, type Release } from './release.js';

/** The record of an applied migration. The phase is null up to the baseline, and the release but for a contract. */
export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
  readonly phase: string | null;
  readonly since: Release | null;
}

export function migrationTableSql({ schema, appRole, provisioningRole }: MigrationRoles): string {
  // PostgreSQL reports each part that exists already.
  return `
    set local client_min_messages = warning;
    grant usage on schema ${quoted(schema)} to ${quoted(appRole)}, ${quoted(provisioningRole)};
    create table if not exists schema_migration (
      number int primary key,
      name text not null,
      sha256 text not null,
      applied_at timestamptz not null default now(),
      applied_by text not null default session_user,
      phase text,
      since text
    );
    grant select on schema_migration to ${quoted(appRole)};`;
}

export async function readApplied(client: Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<AppliedMigration>(
    'select number, name, sha256, phase, since from schema_migration order by number',
  );
  return rows;
}

export async function recordMigration(client: Client, { number, name, sha256, phase }: Migration): Promise<void> {
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
export function pendingOf(
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
