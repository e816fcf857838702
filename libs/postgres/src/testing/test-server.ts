import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import type { ConnectionOptions } from '../session-pool.js';

/** A server on which tests may create databases. */
export interface TestServer {
  readonly connection: ConnectionOptions;
  leave(): Promise<void>;
}

/** The server of DATABASE_URL, which is left unchanged, or a server in a folder that is removed when it stops. */
export async function joinTestServer(): Promise<TestServer> {
  const url = process.env['DATABASE_URL'];
  if (url) return { connection: { connectionString: url }, leave: () => Promise.resolve() };

  const folder = await mkdtemp(join(tmpdir(), 'banking-test-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const server = await attachEmbeddedServer({ dataDir: folder, log: () => undefined });
    return { connection: server.connection, leave: () => server.detach().finally(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}
