import { randomBytes } from 'node:crypto';
import { escapeIdentifier as quoted, type Client } from 'pg';
import type { MigrationRoles } from '../migration-roles.js';
import type { ConnectionOptions } from '../hosts.js';
import { administer, dropDatabase, inDatabase, published } from './published.js';

/** A database without migrations, and names for roles that do not exist yet. */
export interface EmptyDatabase extends MigrationRoles {
  readonly connection: ConnectionOptions;
  /** A name for a further role of this spec. */
  readonly loginRole: string;
  /** Runs SQL in it as the login that administers the server. */
  administer<T>(work: (client: Client) => Promise<T>): Promise<T>;
  /** Drops the database and the roles. */
  close(): Promise<void>;
}

/** For the specs of migrations. @throws Error if the run has no test server */
export async function emptyDatabase(): Promise<EmptyDatabase> {
  const run = published();
  const name = `${run.prefix}${randomBytes(6).toString('hex')}`;
  const [ownerRole, appRole, provisioningRole] = [`${name}_o`, `${name}_a`, `${name}_p`] as const;
  const loginRole = `${name}_l`;
  await administer(run.connection, (client) => client.query(`create database ${quoted(name)}`));
  const connection = inDatabase(run.connection, name);
  return {
    connection,
    schema: 'books',
    ownerRole,
    appRole,
    provisioningRole,
    loginRole,
    administer: (work) => administer(connection, work),
    close: async () => {
      await dropDatabase(run, name);
      await administer(run.connection, async (client) => {
        for (const role of [ownerRole, appRole, provisioningRole, loginRole]) {
          await client.query(`drop role if exists ${quoted(role)}`);
        }
      });
    },
  };
}
