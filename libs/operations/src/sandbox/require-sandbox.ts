import { Refusal } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';

const READ_MODE = sqlStatement<{ is_sandbox: boolean }>('read_mode', 'select is_sandbox from deployment_mode');

/** Whether the database is a sandbox. The mode was stored when the database was created. */
export async function isSandbox(database: Database): Promise<boolean | undefined> {
  return (await database.read({}, bind(READ_MODE)))?.is_sandbox;
}

/**
 * Guards operations that exist only in a sandbox.
 *
 * @throws Refusal `route_not_found` in a live database
 */
export async function requireSandbox(database: Database): Promise<void> {
  if ((await isSandbox(database)) !== true) throw new Refusal('route_not_found');
}
