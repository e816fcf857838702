import { type ConnectionOptions } from '@banking/postgres';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { connectionTo, type DeploymentConfig } from '@banking/process';
import { reportProgress } from './print.js';

/** A connection to the database, which may lack the schema. */
export interface ReachedDatabase {
  /** As the login of DATABASE_URL, or as the superuser of the embedded server. */
  readonly connection: ConnectionOptions;
  /** Detaches from the embedded server, and stops it when no other process uses it. */
  detach(): Promise<void>;
}

/** @throws EmbeddedServerError */
export async function reachDatabase({
  databaseUrl,
  dataDir,
  cells,
}: Pick<DeploymentConfig, 'databaseUrl' | 'dataDir' | 'cells'>): Promise<ReachedDatabase> {
  if (databaseUrl !== undefined) return { connection: connectionTo(databaseUrl), detach: async () => undefined };
  return attachEmbeddedServer({ dataDir, isReplicated: cells !== undefined, log: reportProgress });
}

/** The same, as the login that may migrate. */
export async function reachAsOwner(
  config: Pick<DeploymentConfig, 'databaseUrl' | 'ownerUrl' | 'dataDir' | 'cells'>,
): Promise<ReachedDatabase> {
  const reached = await reachDatabase(config);
  return config.ownerUrl === undefined ? reached : { ...reached, connection: connectionTo(config.ownerUrl) };
}
