import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { refreshStatistics, SCOPE_CHECK } from '@banking/operations';
import {
  Database,
  DatabaseSetupError,
  API_ROLE,
  applicationNameOf,
  type ConnectionOptions,
  EMBEDDED_LOGIN,
  EMBEDDED_OPERATOR_LOGIN,
  ensureEmbeddedLogins,
  MigrationError,
  OPERATOR_ROLE,
  OWNER_ROLE,
  PROVISIONING_ROLE,
  type ReplicaOptions,
  ROLES,
  SCHEMA,
  SERVICE_ROLES,
  bind,
  requireSupport,
  sqlStatement,
} from '@banking/postgres';
import { openBooks, type Books } from '@banking/ledger';
import { type CellConfig, connectionTo, HOME_CELL } from '@banking/process';
import { DeploymentError, settingOf, explainFailure, explainLogin } from './explain-failure.js';
import { type DeploymentMode, checkServedMode } from './deployment-mode.js';
import { prepareReference } from './prepare-reference.js';
import { checkCell } from './cells/step-sequences.js';
import { needsOwnConnection, migrateDeployment, missingMigrations } from './migrate-deployment.js';
import { RELEASE } from './release.js';

/** Where a deployment reports to. */
interface Reports {
  readonly onNew?: ((line: string) => void) | undefined;
  readonly log?: ((line: string) => void) | undefined;
  readonly warn?: ((line: string) => void) | undefined;
}

/** Attaches to the embedded server of a folder, and logs the creation of its database. @throws EmbeddedServerError */
export async function attachDatabase(
  dataDir: string,
  isReplicated: boolean,
  { log, warn, onNew = log }: Reports,
): Promise<EmbeddedServer> {
  const server = await attachEmbeddedServer({ dataDir, isReplicated, ...(warn && { log: warn }) });
  if (server.isNew) onNew?.(`created the database in ${dataDir}`);
  return server;
}

export interface DeploymentSettings extends DeploymentMode {
  /** A server of PostgreSQL 15 or later. Without it, the embedded server of `dataDir` is used. */
  readonly databaseUrl?: string | undefined;
  /** The login that may migrate and change the directory, where it is not the one of `databaseUrl`. */
  readonly ownerUrl?: string | undefined;
  /** A streaming replica that a service may read lists and statements from. */
  readonly replicaUrl?: string | undefined;
  readonly dataDir: string;
  /** The document of an operator with the reference data of the deployment. Default: what the database has. */
  readonly reference?: string | undefined;
  /** The further databases of the deployment, of which this one is home. */
  readonly cells?: readonly CellConfig[] | undefined;
  /** Reads them again, for those that are added while the process runs. @throws ConfigError */
  readonly rereadCells?: (() => readonly CellConfig[]) | undefined;
  /** The name of this database, if it is one of those. */
  readonly cell?: string | undefined;
  /** Whether this process serves requests or due work. A command of an operator does neither. Default false. */
  readonly isService?: boolean | undefined;
  /** The roles that this process takes on, first that of its connections. Default: that of the API for a service, else that of operators. */
  readonly roles?: readonly string[] | undefined;
  /** The account of the operating system of the operator whose command this is, for trails beside the login. */
  readonly operatingSystemUser?: string | undefined;
  /** Whether workspaces that this cell does not serve may be read, as by a command that changes nothing. Default false. */
  readonly mayReadElsewhere?: boolean | undefined;
  readonly poolSize?: number | undefined;
  /** Whether `databaseUrl` leads to a pooler in transaction mode. `ownerUrl` never does. Default false. */
  readonly isPooled?: boolean | undefined;
  /** Whether connections remember statements by name. Default: unless `isPooled`. */
  readonly nameStatements?: boolean | undefined;
  /** How long one SQL statement may run. Default: the limit of the service. */
  readonly statementTimeoutMs?: number | undefined;
  /** Ends the start before its next step. Nothing is left open, and the next start continues. */
  readonly signal?: AbortSignal | undefined;
  /** Whether schema and reference data are brought up to date first. Otherwise an outdated database is refused. Default true. */
  readonly prepare?: boolean | undefined;
  /** Receives that the embedded database was created. Default: `log`. */
  readonly onNew?: ((line: string) => void) | undefined;
  readonly log?: ((line: string) => void) | undefined;
  /** Receives failures that the service survives: a server that ended, a connection that broke. */
  readonly warn?: ((line: string) => void) | undefined;
}

/** A database that is connected and migrated and has its reference data, with its books open. */
export interface Deployment {
  readonly database: Database;
  readonly books: Books;
  /**
   * Opens the database as the provisioning role, which alone may change the directory. Close it before the deployment.
   *
   * @throws DatabaseSetupError with the SQL an administrator must run, when the login may not act as that role
   */
  openProvisioning(): Promise<Database>;
  /** Analyzes the tables without current statistics of the planner. */
  refreshStatistics(): Promise<void>;
  /** Closes the connections. Stops the embedded server if no other process uses it. */
  close(): Promise<void>;
}

/**
 * Connects to the database, and brings its schema and its reference data to this version.
 *
 * @throws DeploymentError, EmbeddedServerError, DatabaseSetupError, MigrationError, each with a message that states what to do
 * @throws the reason of the signal
 */
export async function openDeployment(settings: DeploymentSettings): Promise<Deployment> {
  const { databaseUrl, isSandbox, isService = false, isPooled = false, prepare = true, signal, warn } = settings;
  const { mayReadElsewhere = false, poolSize, nameStatements, statementTimeoutMs } = settings;
  const { roles = [isService ? API_ROLE : OPERATOR_ROLE] } = settings;
  const cellName = settings.cell ?? (settings.cells && HOME_CELL);
  const { connection, embedded } = await connect(settings);
  const openProvisioning = () => openAs(connection, settings, PROVISIONING_ROLE);
  let database: Database | undefined;
  try {
    signal?.throwIfAborted();
    await bringUpToDate(connection, prepare, settings);
    if (embedded && prepare) await ensureEmbeddedLogins(connection);
    database = await Database.open({
      connection: embedded ? { ...connection, user: isService ? EMBEDDED_LOGIN : EMBEDDED_OPERATOR_LOGIN } : connection,
      isPooled,
      role: roles[0]!,
      schema: SCHEMA,
      applicationName: applicationNameOf(RELEASE, cellName !== undefined),
      ...(!isService && operatorSettings(settings)),
      // What is written for a workspace that is in another cell would be lost.
      ...(cellName !== undefined && !mayReadElsewhere && { scopeCheck: SCOPE_CHECK }),
      ...(isService && !isSandbox && { forbiddenRoles: rolesExcept(embedded ? SERVICE_ROLES : roles) }),
      ...(poolSize !== undefined && { poolSize }),
      ...(nameStatements !== undefined && { nameStatements }),
      ...(statementTimeoutMs !== undefined && { statementTimeoutMs }),
      onError: (error) => warn?.(`A connection to the database broke: ${error.message}`),
      replica: isService ? replicaOf(settings) : undefined,
    });
    for (const role of roles.slice(1)) await database.checkRole(role);
    await checkServedMode(database, settings);
    await checkServedSchema(database);
    const others = settings.cells?.map(({ name }) => name);
    await checkCell(database, { name: cellName, others, mayBeAdded: settings.rereadCells !== undefined });
    const books = openBooks(database);
    signal?.throwIfAborted();
    if (prepare) await prepareReference(database, settings, () => openAs(connection, settings, OPERATOR_ROLE));
    const opened = database;
    return {
      database,
      books,
      openProvisioning,
      async refreshStatistics() {
        await refreshStatistics(opened);
      },
      async close() {
        await opened.end().finally(() => embedded?.detach());
      },
    };
  } catch (error) {
    await database?.end();
    await embedded?.detach();
    throw namingCell(explainFailure(error, { url: databaseUrl, cell: cellName }), settings.cell);
  }
}

/** The error of a setup or a migration does not know of cells. */
function namingCell(error: unknown, cell: string | undefined): unknown {
  const isNameless = error instanceof MigrationError || error instanceof DatabaseSetupError;
  if (cell === undefined || !isNameless) return error;
  return new DeploymentError(`The cell "${cell}": ${error.message}`, { cause: error });
}

const rolesExcept = (own: readonly string[]): readonly string[] =>
  [OWNER_ROLE, ...ROLES].filter((role) => !own.includes(role));

function replicaOf({ replicaUrl, log, warn }: DeploymentSettings): ReplicaOptions | undefined {
  if (replicaUrl === undefined) return undefined;
  return {
    connection: connectionTo(replicaUrl),
    onChange: (isUsed, reason) => {
      if (isUsed) log?.('Lists and statements are read from the replica.');
      else warn?.(`Lists and statements are read from the primary: ${reason}`);
    },
    onRejected: (reason) => warn?.(`The replica rejected a read, which the primary has served: ${reason}`),
  };
}

/** What connections of a command have. No caller tries a command again, so it waits longer for a busy server than a request does. */
const operatorSettings = ({ operatingSystemUser }: Pick<DeploymentSettings, 'operatingSystemUser'>) => ({
  acquireTimeoutMs: 10_000,
  ...(operatingSystemUser !== undefined && { settings: { 'app.operating_system_user': operatingSystemUser } }),
});

/** Uses a login of its own on the embedded server, and elsewhere the login that migrates: it may have more rights than the service. */
async function openAs(
  connection: ConnectionOptions,
  { databaseUrl, ownerUrl, isPooled, nameStatements, cell, cells, ...operator }: DeploymentSettings,
  role: typeof PROVISIONING_ROLE | typeof OPERATOR_ROLE,
): Promise<Database> {
  if (isPooled && ownerUrl === undefined) {
    throw needsOwnConnection('Users, workspaces and reference data are changed as another role.', cell);
  }
  const external = ownerUrl === undefined ? connection : connectionTo(ownerUrl);
  return Database.open({
    connection: databaseUrl === undefined ? { ...connection, user: EMBEDDED_OPERATOR_LOGIN } : external,
    role,
    schema: SCHEMA,
    applicationName: applicationNameOf(RELEASE, (cell ?? cells) !== undefined),
    poolSize: 1,
    ...operatorSettings(operator),
    ...(nameStatements !== undefined && { nameStatements }),
  });
}

interface Connected {
  readonly connection: ConnectionOptions;
  readonly embedded?: EmbeddedServer;
}

async function connect(settings: DeploymentSettings): Promise<Connected> {
  const { databaseUrl, dataDir, cells, cell } = settings;
  if (databaseUrl !== undefined) return { connection: connectionTo(databaseUrl) };
  const embedded = await attachDatabase(dataDir, (cells ?? cell) !== undefined, settings);
  return { connection: embedded.connection, embedded };
}

/** @throws DeploymentError if a migration is pending and must not be applied here or by this login, or if the mode differs */
async function bringUpToDate(
  connection: ConnectionOptions,
  prepare: boolean,
  { databaseUrl, ownerUrl, isPooled, isSandbox, log, signal, cell }: DeploymentSettings,
): Promise<void> {
  const owner = ownerUrl === undefined ? connection : connectionTo(ownerUrl);
  const explain = (error: unknown): never => {
    throw explainFailure(error, { url: ownerUrl ?? databaseUrl, cell }, ownerUrl !== undefined);
  };
  const schema = { connection: owner, isSandbox, log, signal };
  const pending = await missingMigrations(schema).catch(explain);
  if (pending.length === 0) return;
  const database = cell === undefined ? 'The database' : `The database of the cell "${cell}"`;
  if (!prepare) {
    throw new DeploymentError(
      `${database} lacks ${pending.join(', ')}. Run banking migrate first, or check DATA_DIR and ` +
        `${settingOf({ cell })}.`,
    );
  }
  if (isPooled && ownerUrl === undefined) throw needsOwnConnection(`${database} lacks ${pending.join(', ')}.`, cell);
  const work = migrateDeployment(schema);
  const isServing = databaseUrl !== undefined && ownerUrl === undefined;
  await (isServing ? work.catch(explainLogin(pending, cell)) : work).catch(explain);
}

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
