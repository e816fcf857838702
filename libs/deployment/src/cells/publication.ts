import { type AdminSession, OWNER_ROLE, quoteName, SCHEMA } from '@banking/postgres';
import { DeploymentError } from '../explain-failure.js';

/**
 * Publishes tables, which are SQL text, as their owner, because a login that takes roles on has no right of its own on them.
 *
 * @throws DeploymentError with the SQL for an administrator where the owner of the tables may not create a publication
 */
export async function createPublication(session: AdminSession, name: string, tables: string): Promise<void> {
  await permitCreation(session);
  await session.actAs(OWNER_ROLE, SCHEMA, () => session.query(`create publication ${name} for table ${tables}`));
}

/** The owner of the database gives the owner of the tables the right, which needs no administrator. */
async function permitCreation(session: AdminSession): Promise<void> {
  const [database] = await session.query<{ name: string; isPermitted: boolean; isOwned: boolean }>(
    `select datname as name, has_database_privilege($1, oid, 'create') as "isPermitted", pg_has_role(datdba, 'usage') as "isOwned"
     from pg_database where datname = current_database()`,
    [OWNER_ROLE],
  );
  const { name, isPermitted, isOwned } = database!;
  if (isPermitted) return;
  const grant = `grant create on database ${quoteName(name)} to ${quoteName(OWNER_ROLE)}`;
  if (!isOwned) {
    throw new DeploymentError(
      `The role ${quoteName(OWNER_ROLE)} may not create a publication. Let an administrator run: ${grant};`,
    );
  }
  await session.query(grant);
}

export const dropPublication = (session: AdminSession, name: string): Promise<unknown> =>
  session.actAs(OWNER_ROLE, SCHEMA, () => session.query(`drop publication if exists ${name}`));
