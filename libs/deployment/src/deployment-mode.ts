import { isSandbox as readIsSandbox } from '@banking/operations';
import { readTable, ROLES, SCHEMA, type ConnectionOptions, type Database } from '@banking/postgres';
import { DeploymentError } from './explain-failure.js';

export interface DeploymentMode {
  /** Whether the database holds demo money. Only then may the login of a service have more rights than the service needs. */
  readonly isSandbox: boolean;
}

/** What the baseline reads, once in the life of a database. */
export function modeParameters({ isSandbox }: DeploymentMode): Record<string, string> {
  return { 'banking.sandbox': isSandbox ? 'on' : 'off' };
}

/**
 * Compares the setting with the database, before anything else is read or written. A new
 * database passes: it stores the mode.
 *
 * @throws DeploymentError when they differ
 */
export async function checkMode(connection: ConnectionOptions, mode: DeploymentMode): Promise<void> {
  const rows = await readTable<{ is_sandbox: boolean }>(connection, {
    schema: SCHEMA,
    table: 'deployment_mode',
    roles: ROLES,
  });
  if (rows !== undefined) compare(mode, rows[0]?.is_sandbox);
}

/** The same in the database that is about to be served: the URL of the owner may have led to another one. */
export async function checkServedMode(database: Database, mode: DeploymentMode): Promise<void> {
  compare(mode, await readIsSandbox(database));
}

function compare({ isSandbox }: DeploymentMode, stored: boolean | undefined): void {
  if (stored === isSandbox) return;
  const [is, says, wanted] = isSandbox ? ['live', 'on', 'off'] : ['a sandbox', 'off', 'on'];
  throw new DeploymentError(
    `The database is ${is}, but SANDBOX=${says}. Set SANDBOX=${wanted}, or name another database by DATABASE_URL or DATA_DIR.`,
  );
}
