import { Refusal } from '@banking/domain';
import { APP_ROLE, bind, type ConnectionOptions, type Database, readTable, SCHEMA, statement } from '@banking/postgres';
import { DeploymentError } from './deployment-error.js';

export interface DeploymentMode {
  /** Whether the database holds demo money. Only then may the login of a service have more rights than the service needs. */
  readonly isSandbox: boolean;
  /** False where the setting is a default. The mode of a database that already has data is not taken from a default. Default true. */
  readonly isSandboxStated?: boolean | undefined;
}

const READ_MODE = statement<{ is_sandbox: boolean }>('read_mode', 'select is_sandbox from deployment_mode');

/** What the migration that stores the mode reads, once in the life of a database. */
export function modeParameters({ isSandbox, isSandboxStated = true }: DeploymentMode): Record<string, string> {
  if (!isSandboxStated) return { 'banking.sandbox': 'default' };
  return { 'banking.sandbox': isSandbox ? 'on' : 'off' };
}

/**
 * Compares the setting with the database, before anything else is read or written. A database whose schema is older than the stored
 * mode passes: the migration that stores it comes next.
 *
 * @throws DeploymentError when they differ
 */
export async function checkMode(connection: ConnectionOptions, mode: DeploymentMode): Promise<void> {
  const rows = await readTable<{ is_sandbox: boolean }>(connection, { schema: SCHEMA, table: 'deployment_mode', role: APP_ROLE }); // prettier-ignore
  if (rows !== undefined) compare(mode, rows[0]);
}

/** The same in the database that is about to be served: the URL of the owner may have led to another one. */
export async function checkServedMode(database: Database, mode: DeploymentMode): Promise<void> {
  compare(mode, await database.read({}, bind(READ_MODE)));
}

/**
 * For operations that exist in a sandbox only.
 *
 * @throws Refusal `route_not_found` in a live database
 */
export async function requireSandbox(database: Database): Promise<void> {
  const stored = await database.read({}, bind(READ_MODE));
  if (stored?.is_sandbox !== true) throw new Refusal('route_not_found');
}

function compare({ isSandbox }: DeploymentMode, stored: { readonly is_sandbox: boolean } | undefined): void {
  if (stored?.is_sandbox === isSandbox) return;
  const [is, says, wanted] = isSandbox ? ['live', 'on', 'off'] : ['a sandbox', 'off', 'on'];
  throw new DeploymentError(
    `The database is ${is}, but SANDBOX=${says}. Set SANDBOX=${wanted}, or name another database by DATABASE_URL or DATA_DIR.`,
  );
}
