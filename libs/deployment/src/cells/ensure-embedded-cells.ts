import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { addCell } from './add-cell.js';
import type { CellsSettings } from './cells.js';
import { addressOf } from './directory-copies.js';

/**
 * Makes the embedded databases of CELLS cells, those that are none yet. Other databases are left to `banking cell add`.
 *
 * @returns what detaches from their servers. Call it after the databases are opened, so that the servers need not start twice.
 */
export async function ensureEmbeddedCells(settings: CellsSettings): Promise<() => Promise<void>> {
  const { databaseUrl, dataDir, cells, isSandbox, isSandboxStated, log, warn } = settings;
  if (databaseUrl !== undefined) return () => Promise.resolve();
  const servers: EmbeddedServer[] = [];
  const attach = async (folder: string) => {
    const server = await attachEmbeddedServer({ dataDir: folder, isReplicated: true, ...(warn && { log: warn }) });
    servers.push(server);
    return server.connection;
  };
  const detach = async () => {
    for (const server of servers) await server.detach();
  };
  try {
    const home = await attach(dataDir);
    for (const { name, dataDir: folder } of cells) {
      const cell = await attach(folder);
      await addCell({ name, home, cell, homeAddress: addressOf(home), isSandbox, isSandboxStated, log });
    }
    return detach;
  } catch (error) {
    await detach();
    throw error;
  }
}
