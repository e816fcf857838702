import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import type { ConnectionOptions } from '../session-pool.js';

/** A server tests may create databases on. */
export interface TestServer {
  readonly connection: ConnectionOptions;
  leave(): Promise<void>;
}

/** The server DATABASE_URL names, which is left as it was found; else one of our own in a folder that goes away with it. */
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
