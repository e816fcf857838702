import type { EmbeddedServer } from '@banking/embedded-postgres';
import { type CellConfig, HOME_CELL } from '@banking/process';
import { attachDatabase, type DeploymentSettings } from '../open-deployment.js';
import { addCell } from './add-cell.js';
import { addressOf } from './subscription.js';
import { type CellSchema, migrateCells } from './migrate-cells.js';

/**
 * Makes the embedded databases of CELLS cells, those that are none yet. Other databases are left to `banking cell add`.
 *
 * @returns what detaches from their servers. Call it after the databases are opened, so that the servers need not start twice.
 */
export async function ensureEmbeddedCells(
  settings: DeploymentSettings & { readonly cells: readonly CellConfig[] },
): Promise<() => Promise<void>> {
  const { databaseUrl, dataDir, cells, isSandbox, reference, log, signal } = settings;
  if (databaseUrl !== undefined) return () => Promise.resolve();
  const servers: EmbeddedServer[] = [];
  const attach = async (folder: string) => {
    const server = await attachDatabase(folder, true, settings);
    servers.push(server);
    signal?.throwIfAborted();
    return server.connection;
  };
  const detach = async () => {
    for (const server of servers) await server.detach();
  };
  try {
    const home = await attach(dataDir);
    const mode = { isSandbox, log };
    const schemas: CellSchema[] = [];
    for (const { name, dataDir: folder } of cells) {
      schemas.push({ name, url: undefined, connection: await attach(folder), ...mode, signal });
    }
    await migrateCells([...schemas, { name: HOME_CELL, url: undefined, connection: home, ...mode, signal }]);
    for (const { name, connection: cell } of schemas) {
      signal?.throwIfAborted();
      await addCell({ name, home, cell, homeAddress: addressOf(home), ...mode, reference });
    }
    return detach;
  } catch (error) {
    await detach();
    throw error;
  }
}
