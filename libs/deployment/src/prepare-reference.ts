import { missingReference, recordReference, ReferenceChangeError } from '@banking/operations';
import {
  applicationNameOf,
  bind,
  type ConnectionOptions,
  Database,
  DatabaseSetupError,
  OPERATOR_ROLE,
  SCHEMA,
  sqlStatement,
} from '@banking/postgres';
import { readReferenceDocument } from '@banking/reference';
import type { DeploymentMode } from './deployment-mode.js';
import { DeploymentError } from './explain-failure.js';
import { RELEASE } from './release.js';

interface ReferenceSettings extends DeploymentMode {
  /** The document of an operator, in YAML. */
  readonly reference?: string | undefined;
  readonly log?: ((line: string) => void) | undefined;
}

const IS_CELL = sqlStatement<{ isCell: boolean }>('is_cell', 'select exists (select from cell_identity) as "isCell"');

/**
 * Brings the reference data of a migrated database to this release and to the document of the operator.
 *
 * @param connection of the login that migrates
 * @throws as `prepareReference` does
 */
export async function prepareReferenceAt(
  connection: ConnectionOptions,
  settings: ReferenceSettings & { readonly isCell?: boolean | undefined; readonly isNewCell?: boolean | undefined },
): Promise<void> {
  const applicationName = applicationNameOf(RELEASE, settings.isCell === true);
  const login = { connection, role: OPERATOR_ROLE, schema: SCHEMA, poolSize: 1, applicationName };
  const database = await Database.open(login);
  try {
    // A database that is no cell yet takes over the reference data of home when it becomes one.
    if (settings.isNewCell === true && !(await database.read({}, bind(IS_CELL)))!.isCell) return;
    await prepareReference(database, settings, () => Database.open(login));
  } finally {
    await database.end();
  }
}

/**
 * Brings the reference data to this release and to the document of the operator.
 *
 * @param openWriting opens the database as a role that may change reference data. Called only if there is something to change
 * @throws ConfigError for mistakes in the document
 * @throws DeploymentError if the login may not change reference data
 */
export async function prepareReference(
  database: Database,
  { isSandbox, reference, log }: ReferenceSettings,
  openWriting: () => Promise<Database>,
): Promise<void> {
  const given = reference === undefined ? undefined : readReferenceDocument('REFERENCE_FILE', reference);
  const missing = await missingReference(database, { isSandbox, given, release: `release ${RELEASE}` });
  if (missing.length === 0) return;
  const writing = await openWriting().catch((error: unknown) => {
    if (!(error instanceof DatabaseSetupError)) throw error;
    throw new DeploymentError(
      'The reference data of the database is not that of this release and of REFERENCE_FILE, and this login may not change it. Run banking migrate ' +
        'with a login that may.',
      { cause: error },
    );
  });
  try {
    for (const change of missing) {
      const { isApplied } = await recordReference(writing, change);
      if (change.origin === 'file') {
        log?.(isApplied ? 'applied REFERENCE_FILE' : `REFERENCE_FILE applies at ${change.effectiveAt}`);
      }
    }
  } catch (error) {
    if (!(error instanceof ReferenceChangeError)) throw error;
    throw new DeploymentError(`REFERENCE_FILE: ${error.message}`, { cause: error });
  } finally {
    await writing.end();
  }
}
