import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RemoteBankingService } from '@banking/client';
import type { ProductId, WorkspaceId } from '@banking/domain';
import { makeDemoData } from '@banking/operations/demo';
import { openDeployment } from '@banking/deployment';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { addGrant, addWorkspace } from '@banking/operations/provisioning';
import { Client } from 'pg';
import { openAccounts, type Payer } from './payers.js';
import { processorTime, type ProcessorTime } from './processor-time.js';
import { type BenchTarget, startService } from './service.js';
import { analyzeWorld, type Workshop } from './world.js';

/** The names of the cells of CELLS=3. */
export const CELLS = ['home', 'b', 'c'];

const ACTOR = 'bench';
const ADA = 'ada@northwind.example';
/** Euros. */
const PRODUCT = 2 as ProductId;

/** A service over databases on this machine, and a workspace in each. */
export interface CellsWorld {
  readonly service: BenchTarget;
  readonly cells: readonly {
    readonly name: string;
    readonly workspaceId: WorkspaceId;
    readonly payers: readonly Payer[];
  }[];
  /** The processes of the servers. */
  readonly postmasters: readonly number[];
}

interface CellsWorldOptions {
  readonly folder: string;
  /** Of the cells, home first. With home alone, the deployment has no cells. */
  readonly names: readonly string[];
  /** Accounts of each workspace. */
  readonly accounts: number;
}

/** Makes the databases with a workspace in each, and starts a service. */
export async function makeCells(
  { folder, runs }: Workshop,
  { folder: name, names, accounts }: CellsWorldOptions,
): Promise<CellsWorld> {
  const dataDir = folder(name);
  const folders = names.map((cell) => (cell === 'home' ? dataDir : join(dataDir, 'cells', cell)));
  const first = await openDeployment({ dataDir, isSandbox: true });
  await makeDemoData(first);
  await first.close();
  const settings: Record<string, string> = names.length > 1 ? { CELLS: String(names.length) } : {};
  const service = runs(await startService(dataDir, { settings }));
  const ids = await addWorkspaces(dataDir, names);
  const cells: { name: string; workspaceId: WorkspaceId; payers: readonly Payer[] }[] = [];
  for (const [at, cell] of names.entries()) {
    const workspaceId = ids[at]!;
    const payers = await openAccounts(clientOf(service), { workspaceId }, PRODUCT, accounts);
    cells.push({ name: cell, workspaceId, payers });
  }
  const postmasters: number[] = [];
  for (const server of folders) {
    await analyzeWorld(server);
    postmasters.push(await postmasterIn(server));
  }
  return { service, cells, postmasters };
}

export const clientOf = ({ url, headers }: BenchTarget) =>
  new RemoteBankingService({ baseUrl: url, token: () => (headers['Authorization'] ?? '').replace('Bearer ', '') });

/** A workspace in each cell. */
async function addWorkspaces(dataDir: string, names: readonly string[]): Promise<readonly WorkspaceId[]> {
  const others = names
    .slice(1)
    .map((name) => ({ name, databaseUrl: undefined, dataDir: join(dataDir, 'cells', name) }));
  const deployment = await openDeployment({
    ...{ dataDir, isSandbox: true, prepare: false },
    ...(others.length > 0 && { cells: others }),
  });
  const directory = await deployment.openProvisioning();
  try {
    const ids: WorkspaceId[] = [];
    for (const name of names) {
      const place = others.length > 0 ? { cell: name } : {};
      const id = await addWorkspace(directory, ACTOR, { app: 'Northwind Treasury', name: `Cell ${name}`, ...place });
      await addGrant(directory, ACTOR, { workspaceId: id, email: ADA, role: 'admin' });
      ids.push(id as WorkspaceId);
    }
    return ids;
  } finally {
    await directory.end();
    await deployment.close();
  }
}

/** The process of the server of a data folder that runs. The folder of its database may be another one. */
async function postmasterIn(dataDir: string): Promise<number> {
  const server = await attachEmbeddedServer({ dataDir });
  const client = new Client(server.connection);
  try {
    await client.connect();
    const { rows } = await client.query<{ data: string }>(`select current_setting('data_directory') as data`);
    return Number.parseInt(readFileSync(join(rows[0]?.data ?? '', 'postmaster.pid'), 'latin1'), 10);
  } finally {
    await client.end();
    await server.detach();
  }
}

/** The processor time of a process so far, and of all servers. */
export function processorMicros(pid: number, postmasters: readonly number[]): ProcessorTime {
  const times = postmasters.map((postmaster) => processorTime(pid, postmaster));
  return { service: times[0]?.service ?? 0, database: times.reduce((sum, { database }) => sum + database, 0) };
}
