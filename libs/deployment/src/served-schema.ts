import { bind, requireSupport, sqlStatement, type Database } from '@banking/postgres';
import { RELEASE } from './release.js';

const CONTRACTS = sqlStatement<{ name: string; since: string }>(
  'contract_migrations',
  `select name, since from schema_migration where phase = 'contract'`,
);

/**
 * Checks again, on a connection that other processes see, that the database supports this program: a contract migration may have been
 * applied since the first check, when this process was not yet visible.
 *
 * @throws MigrationError with the release that is needed
 */
export async function checkServedSchema(database: Database): Promise<void> {
  const [contracts] = await database.pipeline({}, [bind(CONTRACTS)]);
  for (const contract of contracts) requireSupport({ ...contract, phase: 'contract' }, RELEASE);
}
