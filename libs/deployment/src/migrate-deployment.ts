import {
  type ConnectionOptions,
  migrate,
  type MigrationPlan,
  OWNER_ROLE,
  pendingMigrations,
  planMigrations,
  ROLES,
  SCHEMA,
} from '@banking/postgres';
import { MIGRATIONS } from '@banking/schema';
import { checkMode, type DeploymentMode, modeParameters } from './deployment-mode.js';
import { RELEASE } from './release.js';
import { stepNewSequences } from './cells/step-sequences.js';
import { settingOf, DeploymentError } from './explain-failure.js';

export interface SchemaSettings extends DeploymentMode {
  /** The login that may migrate. */
  readonly connection: ConnectionOptions;
  readonly log?: ((line: string) => void) | undefined;
  /** Applies a contract migration also while processes are connected that it breaks. Default false. */
  readonly isIgnoringOlder?: boolean | undefined;
  /** Ends the work before the next migration. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The names of the migrations that the database lacks. Changes nothing.
 *
 * @throws DeploymentError when the database has the other mode. @throws as `pendingMigrations` does
 */
export async function missingMigrations({ connection, ...mode }: SchemaSettings): Promise<readonly string[]> {
  const pending = await pendingMigrations(schemaAt(connection));
  await checkMode(connection, mode);
  return pending;
}

/**
 * What a migration would do. Changes nothing.
 *
 * @throws as `missingMigrations` does
 */
export async function planDeployment({ connection, ...mode }: SchemaSettings): Promise<MigrationPlan> {
  const plan = await planMigrations(schemaAt(connection));
  await checkMode(connection, mode);
  return plan;
}

/**
 * Brings the schema to this version. A new database stores the mode.
 *
 * @returns the names of the migrations applied now
 * @throws DeploymentError when the database has the other mode. @throws as `migrate` does
 */
export async function migrateDeployment(settings: SchemaSettings): Promise<readonly string[]> {
  const { connection, log, isIgnoringOlder = false, signal, ...mode } = settings;
  const parameters = modeParameters(mode);
  const options = {
    ...schemaAt(connection),
    parameters,
    isIgnoringOlder,
    afterEach: stepNewSequences,
    ...(log && { log }),
    ...(signal && { signal }),
  };
  const { applied } = await migrate(options);
  await checkMode(connection, mode);
  return applied;
}

const schemaAt = (connection: ConnectionOptions) => ({
  connection,
  migrations: MIGRATIONS,
  schema: SCHEMA,
  ownerRole: OWNER_ROLE,
  roles: ROLES,
  release: RELEASE,
});

/** For work that a session of its own does, which a pooler in transaction mode does not give. @param why a sentence */
export function needsOwnConnection(why: string, cell?: string): DeploymentError {
  return new DeploymentError(
    `${why} That needs a connection without a pooler. Set ${settingOf({ cell }, true)} to the address of the PostgreSQL server itself, with a ` +
      'login that has the right.',
  );
}
