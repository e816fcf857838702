import type { ConnectionOptions } from '../session-pool.js';

/** A server tests may create databases on. */
export interface TestServer {
  readonly connection: ConnectionOptions;
  leave(): Promise<void>;
}

/** The server DATABASE_URL names, which is left as it was found. */
export async function joinTestServer(): Promise<TestServer> {
  const url = process.env['DATABASE_URL'];
  if (!url) throw new Error('set DATABASE_URL to a server on which databases may be created');
  return { connection: { connectionString: url }, leave: () => Promise.resolve() };
}
