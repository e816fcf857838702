import { join } from 'node:path';
import { BankingClient } from '@banking/client';
import type { ProductId, WorkspaceId } from '@banking/domain';
import { openDeployment } from '@banking/deployment';
import { addGrant, addWorkspace } from '@banking/provisioning';
import { postmasterIn, processorMicros } from './cells.js';
import { posting } from './orders.js';
import { openAccounts, type Payer } from './payers.js';
import { type BenchTarget, startService } from './service.js';
import { inWorkshop, type Workshop } from './world.js';

export interface CellsThroughputOptions {
  readonly seconds: number;
  /** Concurrent connections for each cell: batches of a cell are as large as without others. */
  readonly connections: number;
  /** Accounts of each cell. */
  readonly accounts: number;
  readonly onProgress: (line: string) => void;
}

/** Orders of one service over so many databases on one machine. */
export interface CellsThroughput {
  readonly cells: number;
  readonly perSecond: number;
  /** Processor time of an order, in the service and in all servers, in microseconds. */
  readonly service: number;
  readonly database: number;
}

/** The names of the cells of CELLS=3. */
const CELLS = ['home', 'b', 'c'];
const WARM_UP_S = 3;
const ACTOR = 'bench';
const ADA = 'ada@northwind.example';
/** Euros. */
const PRODUCT = 2 as ProductId;

/** Measures orders of one service, spread evenly over one, two and three databases. Linux only. */
export async function benchCellsThroughput(options: CellsThroughputOptions): Promise<readonly CellsThroughput[]> {
  const figures: CellsThroughput[] = [];
  for (let count = 1; count <= CELLS.length; count += 1) {
    options.onProgress(`Cells: ${count}`);
    figures.push(await inWorkshop((workshop) => measure(workshop, CELLS.slice(0, count), options)));
  }
  return figures;
}

async function measure(
  { folder, runs }: Workshop,
  names: readonly string[],
  { seconds, accounts, connections }: CellsThroughputOptions,
): Promise<CellsThroughput> {
  const dataDir = folder('throughput');
  const folders = names.map((name) => (name === 'home' ? dataDir : join(dataDir, 'cells', name)));
  const first = await openDeployment({ dataDir, isSandbox: true });
  await first.close();
  const settings: Record<string, string> = names.length > 1 ? { CELLS: String(names.length) } : {};
  const service = runs(await startService(dataDir, { settings }));
  const payers: Payer[] = [];
  for (const workspaceId of await addWorkspaces(dataDir, names)) {
    payers.push(...(await openAccounts(clientOf(service), { workspaceId }, PRODUCT, accounts)));
  }
  const postmasters: number[] = [];
  for (const server of folders) postmasters.push(await postmasterIn(server));

  const place = posting(service, payers, { connections: connections * names.length });
  await place(WARM_UP_S);
  const before = processorMicros(service.pid, postmasters);
  const { perSecond } = await place(seconds);
  const after = processorMicros(service.pid, postmasters);
  const orders = perSecond * seconds;
  return {
    cells: names.length,
    perSecond,
    service: (after.service - before.service) / orders,
    database: (after.database - before.database) / orders,
  };
}

const clientOf = ({ url, headers }: BenchTarget) =>
  new BankingClient({ baseUrl: url, token: () => (headers['Authorization'] ?? '').replace('Bearer ', '') });

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

/** The figures as text. */
export function reportCellsThroughput(figures: readonly CellsThroughput[]): string {
  return [
    'Orders of one service over several databases on this machine, and the processor time of an order',
    ...figures.map(
      ({ cells, perSecond, service, database }) =>
        `  ${cells} ${cells === 1 ? 'database ' : 'databases'}  ${perSecond.toFixed(0).padStart(6)} per second  ` +
        `${service.toFixed(0).padStart(5)} µs in the service  ${database.toFixed(0).padStart(5)} µs in PostgreSQL`,
    ),
  ].join('\n');
}
