import { DatabaseError, escapeIdentifier as quoted, type Client } from 'pg';
import { MigrationError } from './migration-files.js';

/** Whose the tables are, who uses them, and where. */
export interface MigrationRoles {
  readonly schema: string;
  readonly ownerRole: string;
  readonly appRole: string;
}

/** What is there already. */
interface Ground {
  readonly login: string;
  readonly version: number;
  readonly roles: readonly { readonly name: string; readonly isDangerous: boolean; readonly isOurs: boolean }[];
  readonly schemaOwner: string | null;
}

const INSUFFICIENT_PRIVILEGE = '42501';
const SET_OPTION_SINCE = 160_000;

/** Two databases of one cluster share their roles, so another starter may have made them a moment ago. */
const MADE_MEANWHILE = new Set(['42710', '23505']);

/**
 * Makes sure that both roles and the schema exist and that the login may act as both roles. Changes nothing that is there.
 *
 * @throws MigrationError with the SQL an administrator must run, when the login may not do it itself; or when what is
 *   there would let the app around row-level security.
 */
export async function layGround(client: Client, roles: MigrationRoles): Promise<void> {
  const ground = await survey(client, roles);
  refuseDanger(ground, roles);
  const steps = stepsFrom(ground, roles);
  for (const [at, step] of steps.entries()) {
    await client.query(step).catch((error: unknown) => {
      if (error instanceof DatabaseError && MADE_MEANWHILE.has(error.code ?? '')) return;
      if (!(error instanceof DatabaseError) || error.code !== INSUFFICIENT_PRIVILEGE) throw error;
      const left = steps.slice(at).map((line) => `  ${line};`);
      throw new MigrationError(
        `The login "${ground.login}" may not prepare this database. Let an administrator run, in this database:\n${left.join('\n')}`,
        { cause: error },
      );
    });
  }
}

async function survey(client: Client, { schema, ownerRole, appRole }: MigrationRoles): Promise<Ground> {
  const { rows } = await client.query<{ version: number; login: string; owner: string | null }>(
    `select current_setting('server_version_num')::int as version, current_user as login,
            (select nspowner::regrole::text from pg_namespace where nspname = $1) as owner`,
    [schema],
  );
  const [{ version, login, owner } = { version: 0, login: '', owner: null }] = rows;
  const mayActAs = version >= SET_OPTION_SINCE ? 'set' : 'member';
  const roles = await client.query<Ground['roles'][number]>(
    `select rolname as name, rolsuper or rolbypassrls as "isDangerous",
            pg_has_role(current_user, oid, '${mayActAs}') as "isOurs"
       from pg_roles where rolname = any($1)`,
    [[ownerRole, appRole]],
  );
  return { version, login, roles: roles.rows, schemaOwner: owner };
}

function refuseDanger(ground: Ground, { schema, ownerRole }: MigrationRoles): void {
  const dangerous = ground.roles.find((role) => role.isDangerous);
  if (dangerous !== undefined) {
    const name = quoted(dangerous.name);
    throw new MigrationError(
      `Row-level security does not bind the role ${name}. Run: alter role ${name} nosuperuser nobypassrls;`,
    );
  }
  if (ground.schemaOwner !== null && ground.schemaOwner !== ownerRole && ground.schemaOwner !== quoted(ownerRole)) {
    throw new MigrationError(
      `The schema ${quoted(schema)} belongs to ${ground.schemaOwner}. Run: alter schema ${quoted(schema)} owner to ${quoted(ownerRole)};`,
    );
  }
}

function stepsFrom(ground: Ground, { schema, ownerRole, appRole }: MigrationRoles): string[] {
  const names = [ownerRole, appRole];
  const missing = names.filter((name) => !ground.roles.some((role) => role.name === name));
  const notOurs = names.filter((name) => !ground.roles.some((role) => role.name === name && role.isOurs));
  // Acting as a role is asked for each time; its rights must not come with every connection of the login.
  const how = ground.version >= SET_OPTION_SINCE ? ' with inherit false, set true' : '';
  return [
    ...missing.map((name) => `create role ${quoted(name)} nologin nosuperuser nobypassrls`),
    ...notOurs.map((name) => `grant ${quoted(name)} to ${quoted(ground.login)}${how}`),
    ...(ground.schemaOwner === null ? [`create schema ${quoted(schema)} authorization ${quoted(ownerRole)}`] : []),
  ];
}
