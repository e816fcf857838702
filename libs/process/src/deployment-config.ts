import { resolve } from 'node:path';
import { type CellConfig, readCells } from './cells-config.js';
import { readDatabaseUrl, STANDBY } from './database-url.js';
import type { EnvironmentReader } from './environment-reader.js';

/** The settings that api, worker and cli must agree on: where the database is and what it holds. */
export interface DeploymentConfig {
  readonly dataDir: string;
  /** With an explicit `sslmode`. Without a URL the embedded server of `dataDir` is used. */
  readonly databaseUrl?: string | undefined;
  /** The login that may migrate and change the directory, where it is not the one of `databaseUrl`. */
  readonly ownerUrl?: string | undefined;
  /** The further databases of the deployment. Without them, this database is the only one. */
  readonly cells?: readonly CellConfig[] | undefined;
  /** Reads them from CELLS_FILE again. @throws ConfigError */
  readonly rereadCells?: (() => readonly CellConfig[]) | undefined;
  /** A streaming replica for lists and statements, with an explicit `sslmode`. */
  readonly replicaUrl?: string | undefined;
  readonly poolSize: number;
  /** Whether the URL leads to a pooler in transaction mode, which keeps no settings of a session. The URL of the owner does not. */
  readonly isPooled: boolean;
  /** Off by default through such a pooler: PgBouncer keeps named statements since 1.21. */
  readonly nameStatements: boolean;
  /** Whether missing demo data is created. */
  readonly demo: boolean;
  /** Whether the database holds demo money. */
  readonly isSandbox: boolean;
  /** Whether reference data that is marked as demo is loaded and served. */
  readonly hasDemoReference: boolean;
  /** For how many days events are listed before the worker deletes them. */
  readonly eventsKeptDays: number;
}

/** @param isGateway whether there is no database; then only `dataDir` and `isSandbox` have a use */
export function readDeployment(reader: EnvironmentReader, { isGateway = false } = {}): DeploymentConfig {
  const { text, given, flag, oneOf, whole, mistakes } = reader;
  const isTlsRequired = flag('DATABASE_TLS', true);
  const databaseUrl = readDatabaseUrl(reader, 'DATABASE_URL', isTlsRequired);
  const ownerUrl = readDatabaseUrl(reader, 'DATABASE_OWNER_URL', isTlsRequired);
  const replicaUrl = readDatabaseUrl(reader, 'DATABASE_REPLICA_URL', isTlsRequired, STANDBY);
  for (const [name, url] of Object.entries({ DATABASE_OWNER_URL: ownerUrl, DATABASE_REPLICA_URL: replicaUrl })) {
    if (url === undefined || given('DATABASE_URL') !== undefined) continue;
    mistakes.push(`${name} is set without DATABASE_URL. Set both, or neither for the embedded database.`);
  }
  const isPooled = oneOf('DATABASE_POOLER', ['none', 'transaction'], 'none') === 'transaction';
  if (isPooled && given('DATABASE_URL') === undefined) {
    mistakes.push(
      'DATABASE_POOLER is set without DATABASE_URL. Set DATABASE_URL to the address of the pooler, or remove DATABASE_POOLER.',
    );
  }
  const isEmbedded = given('DATABASE_URL') === undefined && !isGateway;
  // A gateway has no database. It offers the operations of a sandbox unless it is set up like a live deployment.
  const isSandbox = flag('SANDBOX', !isGateway || text('OIDC_ISSUER') === undefined);
  if (text('SANDBOX') === undefined && !isEmbedded && !isGateway) {
    mistakes.push(
      'SANDBOX is not set. With DATABASE_URL, set SANDBOX=on for a database of demo money or SANDBOX=off for real money.',
    );
  }
  const demo = flag('DEMO_DATA', isEmbedded && isSandbox);
  if (demo && !isSandbox && !isGateway) {
    mistakes.push(
      'DEMO_DATA is on and SANDBOX is off. Demo data exists in a sandbox only. Remove DEMO_DATA, or set SANDBOX=on.',
    );
  }
  const hasDemoReference = flag('DEMO_REFERENCE', isSandbox);
  if (demo && isSandbox && !hasDemoReference && !isGateway) {
    mistakes.push(
      'DEMO_DATA is on and DEMO_REFERENCE is off. The demo data pays through corridors of the demo. Set both, or set DEMO_DATA=off.',
    );
  }
  const dataDir = resolve(text('DATA_DIR') ?? '.data');
  const cells = isGateway ? undefined : readCells(reader, { dataDir, isTlsRequired });
  if (cells !== undefined && replicaUrl !== undefined) {
    mistakes.push('DATABASE_REPLICA_URL is set with several databases, which have no replicas yet. Remove it.');
  }
  return {
    dataDir,
    databaseUrl,
    ownerUrl,
    ...cells,
    replicaUrl,
    poolSize: whole('DATABASE_POOL_SIZE', 2, 100) ?? 8,
    isPooled,
    nameStatements: flag('DATABASE_NAMED_STATEMENTS', !isPooled),
    demo,
    isSandbox,
    hasDemoReference,
    eventsKeptDays: whole('EVENTS_KEPT_DAYS', 1, 3_650) ?? 30,
  };
}
