import { isNativeError } from 'node:util/types';
import { Refusal } from '@banking/domain';
import { openBooks, type Books } from '@banking/ledger';
import {
  analyzeTables,
  APP_ROLE,
  type ConnectionOptions,
  Database,
  DatabaseError,
  EMBEDDED_LOGIN,
  EMBEDDED_OPERATOR_LOGIN,
  ensureEmbeddedLogins,
  joinEmbeddedServer,
  MigrationError,
  OWNER_ROLE,
  PROVISIONING_ROLE,
  SCHEMA,
} from '@banking/postgres';
import { connectionTo } from '@banking/process';
import { makeDemoWorld } from './demo-world/make-demo-world.js';
import { DeploymentError } from './deployment-error.js';
import { checkServedMode, type DeploymentMode } from './deployment-mode.js';
import { loadReference } from './load-reference.js';
import { migrateDeployment, missingMigrations } from './migrate-deployment.js';

export interface DeploymentSettings extends DeploymentMode {
  /** A PostgreSQL 15 or later of one's own; without it the embedded server of `dataDir` answers. */
  readonly databaseUrl?: string | undefined;
  /** The login that may migrate and change the directory, where it is not the one of `databaseUrl`. */
  readonly ownerUrl?: string | undefined;
  readonly dataDir: string;
  /** Whether the demo world is made when it is not there. */
  readonly demo: boolean;
  /** Whether this process serves requests or does work that is due, and is no command of an operator. Default false. */
  readonly isService?: boolean | undefined;
  readonly poolSize?: number | undefined;
  /** Off for PgBouncer before 1.21 in transaction mode. */
  readonly nameStatements?: boolean | undefined;
  /** How long one statement may run, where the service's own bound is too short. */
  readonly statementTimeoutMs?: number | undefined;
  /**
   * Whether schema, reference data and demo world are brought up to date first. Without it nothing is changed, and a database that
   * lacks something is refused. Default true.
   */
  readonly prepare?: boolean | undefined;
  readonly log?: ((line: string) => void) | undefined;
  /** Told of what an operator should see though the service goes on: a server that ended, a connection that broke. */
  readonly warn?: ((line: string) => void) | undefined;
}

/** A database that is reached, migrated and filled, with its books open. */
export interface Deployment {
  readonly database: Database;
  readonly books: Books;
  /**
   * Opens the database as the provisioning role, which alone may change the directory. Close it before the deployment.
   *
   * @throws DatabaseSetupError with the SQL an administrator must run, when the login may not act as that role
   */
  openProvisioning(): Promise<Database>;
  /** Lets go of the database; stops the embedded server when nobody else uses it. */
  close(): Promise<void>;
}

/**
 * Reaches the database, brings its schema and its reference data to this version, makes the demo world where it is wanted.
 *
 * @throws DeploymentError, EmbeddedServerError, DatabaseSetupError, MigrationError, each with a sentence that says what to do
 */
export async function openDeployment(settings: DeploymentSettings): Promise<Deployment> {
  const { databaseUrl, demo, isSandbox, isService = false, prepare = true, warn } = settings;
  const { poolSize, nameStatements, statementTimeoutMs } = settings;
  const { connection, embedded } = await reach(settings);
  const openProvisioning = () => openAsProvisioning(connection, settings);
  let database: Database | undefined;
  try {
    await bringUpToDate(connection, prepare, settings);
    if (embedded && prepare) await ensureEmbeddedLogins(connection);
    database = await Database.open({
      connection: embedded ? { ...connection, user: isService ? EMBEDDED_LOGIN : EMBEDDED_OPERATOR_LOGIN } : connection,
      role: APP_ROLE,
      schema: SCHEMA,
      ...(isService && !isSandbox && { forbiddenRoles: [OWNER_ROLE, PROVISIONING_ROLE] }),
      ...(poolSize !== undefined && { poolSize }),
      ...(nameStatements !== undefined && { nameStatements }),
      ...(statementTimeoutMs !== undefined && { statementTimeoutMs }),
      onError: (error) => warn?.(`A connection to the database broke: ${error.message}`),
    });
    await checkServedMode(database, settings);
    const books = openBooks(database);
    if (prepare) await loadReference(database);
    const isFresh = prepare && demo && (await makeDemoWorld(books, openProvisioning));
    // A server of one's own has its own autovacuum, and an owner whom this login need not be.
    if (isFresh && embedded) await analyzeTables(connection, SCHEMA);
    const opened = database;
    return {
      database,
      books,
      openProvisioning,
      async close() {
        await opened.end().finally(() => embedded?.leave());
      },
    };
  } catch (error) {
    await database?.end();
    await embedded?.leave();
    throw explainAway(error, databaseUrl);
  }
}

/** As a login of its own on the embedded server, else as the login that migrates, which may have more rights than the service. */
function openAsProvisioning(
  connection: ConnectionOptions,
  { databaseUrl, ownerUrl, nameStatements }: DeploymentSettings,
): Promise<Database> {
  const external = ownerUrl === undefined ? connection : connectionTo(ownerUrl);
  return Database.open({
    connection: databaseUrl === undefined ? { ...connection, user: EMBEDDED_OPERATOR_LOGIN } : external,
    role: PROVISIONING_ROLE,
    schema: SCHEMA,
    poolSize: 1,
    ...(nameStatements !== undefined && { nameStatements }),
  });
}

interface Reached {
  readonly connection: ConnectionOptions;
  readonly embedded?: Awaited<ReturnType<typeof joinEmbeddedServer>>;
}

async function reach({ databaseUrl, dataDir, warn }: DeploymentSettings): Promise<Reached> {
  if (databaseUrl !== undefined) return { connection: connectionTo(databaseUrl) };
  const embedded = await joinEmbeddedServer({ dataDir, ...(warn && { log: warn }) });
  return { connection: embedded.connection, embedded };
}

/** @throws DeploymentError when something is pending and may not be applied, by us or by this login, or the mode is the other one */
async function bringUpToDate(
  connection: ConnectionOptions,
  prepare: boolean,
  { databaseUrl, ownerUrl, isSandbox, isSandboxStated, log }: DeploymentSettings,
): Promise<void> {
  const owner = ownerUrl === undefined ? connection : connectionTo(ownerUrl);
  const schema = { connection: owner, isSandbox, isSandboxStated, log };
  const pending = await missingMigrations(schema);
  if (pending.length === 0) return;
  if (!prepare) {
    throw new DeploymentError(
      `The database lacks ${pending.join(', ')}. Run banking migrate or start the service first, or check DATA_DIR and DATABASE_URL.`,
    );
  }
  const work = migrateDeployment(schema);
  await (databaseUrl !== undefined && ownerUrl === undefined ? work.catch(sayWhoMigrates(pending)) : work);
}

/** A login that serves and may not migrate is as it should be: another one migrates. */
function sayWhoMigrates(pending: readonly string[]): (error: unknown) => never {
  return (error) => {
    const { cause } = error as { cause?: unknown };
    const isNotAllowed = error instanceof MigrationError && cause instanceof DatabaseError && cause.code === '42501';
    if (!isNotAllowed) throw error;
    throw new DeploymentError(
      `The database lacks ${pending.join(', ')}, and the login of DATABASE_URL may not migrate. ` +
        `Set DATABASE_OWNER_URL to a login that may; in a sandbox, this one may be such a login. ${error.message}`,
      { cause: error },
    );
  };
}

/** Corrupted data, an error of the file system. */
const DAMAGED = /^(?:XX00[12]|58)/;
const DISK_FULL = '53100';

/** For an error that says a server is away or its files are damaged: one that says what to do. Other errors are handed back. */
export function explainAway(error: unknown, databaseUrl: string | undefined): unknown {
  const cause = error instanceof Refusal || error instanceof MigrationError ? error.cause : error;
  const code = (cause instanceof DatabaseError && cause.code) || '';
  const whose = databaseUrl === undefined ? 'in DATA_DIR' : `at ${new URL(databaseUrl).host}`;
  if (cause instanceof DatabaseError && DAMAGED.test(code)) {
    const advice = 'Stop whatever uses it and put a backup in its place.';
    return new DeploymentError(`The database ${whose} is damaged: ${cause.message}. ${advice}`, { cause: error });
  }
  if (cause instanceof DatabaseError && code === DISK_FULL) {
    const advice = 'Free at least 200 MB and start again.';
    return new DeploymentError(`The disk of the database ${whose} is full: ${cause.message}. ${advice}`, {
      cause: error,
    });
  }
  const isAway = error instanceof Refusal && error.reason === 'unavailable';
  return isAway ? new DeploymentError(sentenceOf(error, databaseUrl), { cause: error }) : error;
}

/** The driver's message where the server has no TLS; it has no code. */
const NO_TLS = 'The server does not support SSL connections';
/** Codes of `node:tls`, such as CERT_HAS_EXPIRED, SELF_SIGNED_CERT_IN_CHAIN and UNABLE_TO_VERIFY_LEAF_SIGNATURE. */
const UNPROVEN = /CERT|SIGNATURE/;

/** Names the server, never the login or its password. */
function sentenceOf(error: Refusal, databaseUrl: string | undefined): string {
  const server = databaseUrl === undefined ? 'The embedded database' : `The database at ${new URL(databaseUrl).host}`;
  const why = isNativeError(error.cause) ? error.cause.message : error.message;
  const code = String((error.cause as NodeJS.ErrnoException | undefined)?.code);
  if (why === NO_TLS) {
    return `${server} offers no TLS. Switch TLS on at the server, or set DATABASE_TLS=off to connect without it.`;
  }
  if (UNPROVEN.test(code)) {
    return (
      `${server} did not prove who it is: ${why}. Connect by a name in its certificate, and set sslrootcert in the URL to the file ` +
      'of the CA that signed it. DATABASE_TLS=off allows connecting without this proof.'
    );
  }
  const advice = databaseUrl === undefined ? 'Look into server.log in DATA_DIR.' : 'Check DATABASE_URL and that the server runs; without DATABASE_URL the embedded database is used.'; // prettier-ignore
  return `${server} cannot be reached: ${why}. ${advice}`;
}
