import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';

/** Where a deployment reports to. */
interface Reports {
  readonly log?: ((line: string) => void) | undefined;
  readonly warn?: ((line: string) => void) | undefined;
}

/** Attaches to the embedded server of a folder, and logs the creation of its database. @throws EmbeddedServerError */
export async function attachDatabase(
  dataDir: string,
  isReplicated: boolean,
  { log, warn }: Reports,
): Promise<EmbeddedServer> {
  const server = await attachEmbeddedServer({ dataDir, isReplicated, ...(warn && { log: warn }) });
  if (server.isNew) log?.(`created the database in ${dataDir}`);
  return server;
}
