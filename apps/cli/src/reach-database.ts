import { type ConnectionOptions, joinEmbeddedServer } from '@banking/postgres';
import { connectionTo, type DeploymentConfig } from '@banking/process';
import { tell } from './print.js';

/** The way to the database, whatever the state of its schema. */
export interface ReachedDatabase {
  /** As the login of DATABASE_URL, or as the superuser of the embedded server. */
  readonly connection: ConnectionOptions;
  /** Lets go of the embedded server, and stops it when nobody else uses it. */
  leave(): Promise<void>;
}

/** @throws EmbeddedServerError */
export async function reachDatabase({ databaseUrl, dataDir }: DeploymentConfig): Promise<ReachedDatabase> {
  if (databaseUrl !== undefined) return { connection: connectionTo(databaseUrl), leave: async () => undefined };
  return joinEmbeddedServer({ dataDir, log: tell });
}
