import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { openDeployment } from '@banking/deployment';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { Client } from 'pg';
import { inPairs, ratiosOf, spreadOf, type Spread } from './comparison.js';
import { sampleTransfers } from './fill-books.js';
import { orderRequest } from './orders.js';
import { makePayers, type Payer } from './payers.js';
import { processorTime, type ProcessorTime } from './processor-time.js';
import { type BenchTarget, startService } from './service.js';
import { analyzeWorld, inWorkshop, type Workshop } from './world.js';

export interface CellsOptions {
  readonly rounds: number;
  /** Requests of one side in one round. */
  readonly requests: number;
  readonly connections: number;
  readonly accounts: number;
  readonly onProgress: (line: string) => void;
}

/** The processor time of a request through cells, compared with one database. */
export interface CellsFigure {
  readonly name: string;
  /** Microseconds of the process and of all its database servers. */
  readonly cells: Spread;
  readonly one: Spread;
  readonly ratio: Spread;
}

const AIM = 1.05;
const SAMPLE = 100;
const SAMPLE_MS = 50;
const WARM_UP_ROUNDS = 3;
/** The folders of the embedded servers of CELLS=3 below DATA_DIR. */
const SERVERS = ['.', 'cells/b', 'cells/c'];

interface Side {
  readonly service: BenchTarget;
  readonly payers: readonly Payer[];
  readonly transfers: readonly string[];
  readonly postmasters: readonly number[];
}

/** Measures what routing over three databases adds to a read and an order of a workspace at home. Linux only. */
export function benchCells(options: CellsOptions): Promise<readonly CellsFigure[]> {
  return inWorkshop(async (workshop) => {
    const { rounds, onProgress } = options;
    onProgress('One database');
    const one = await sideOf(workshop, 'one', ['.'], {}, options);
    onProgress('Three databases');
    const cells = await sideOf(workshop, 'cells', SERVERS, { CELLS: String(SERVERS.length) }, options);
    const loads: Readonly<Record<string, (side: Side) => readonly autocannon.Request[]>> = {
      'GET /transfers/{transferId}': ({ transfers }) => transfers.map((path) => ({ path })),
      'POST /accounts/{accountId}/orders': ({ service, payers }) => [orderRequest(service, payers)],
    };
    const figures: CellsFigure[] = [];
    for (const [name, requestsOf] of Object.entries(loads)) {
      onProgress(name);
      const run = (side: Side) => () => microsPerRequest(side, requestsOf(side), options);
      const sides = { ours: run(cells), control: run(one) };
      await inPairs(WARM_UP_ROUNDS, sides);
      const pairs = await inPairs(rounds, sides);
      const figure = {
        name,
        cells: spreadOf(pairs.map(({ ours }) => ours)),
        one: spreadOf(pairs.map(({ control }) => control)),
        ratio: ratiosOf(pairs, (micros) => micros),
      };
      onProgress(lineOf(figure));
      figures.push(figure);
    }
    return figures;
  });
}

async function sideOf(
  { folder, runs }: Workshop,
  name: string,
  servers: readonly string[],
  settings: Readonly<Record<string, string>>,
  { accounts }: CellsOptions,
): Promise<Side> {
  const dataDir = folder(name);
  const { accounts: payers } = await makePayers(dataDir, { accounts, workspaces: 1 });
  await analyzeWorld(dataDir);
  const deployment = await openDeployment({ dataDir, isSandbox: true, prepare: false });
  const transfers = (await sampleTransfers(deployment, SAMPLE)).map((id) => `/transfers/${id}`);
  await deployment.close();
  const service = runs(await startService(dataDir, { settings }));
  const postmasters: number[] = [];
  for (const server of servers) postmasters.push(await postmasterIn(join(dataDir, server)));
  return { service, payers, transfers, postmasters };
}

/** The process of the server of a data folder that runs. The folder of its database may be another one. */
export async function postmasterIn(dataDir: string): Promise<number> {
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

/** @throws Error when a response has another status than 200 */
async function microsPerRequest(
  { service: { url, pid, headers }, postmasters }: Side,
  requests: readonly autocannon.Request[],
  { requests: sent, connections }: CellsOptions,
): Promise<number> {
  const before = processorMicros(pid, postmasters);
  const { statusCodeStats } = await autocannon({
    ...{ url, connections, amount: sent, headers, requests },
    sampleInt: SAMPLE_MS,
  });
  const after = processorMicros(pid, postmasters);
  const micros = after.service - before.service + after.database - before.database;
  const answered = statusCodeStats['200']?.count ?? 0;
  if (answered !== sent) throw new Error(`${sent - answered} of ${sent} responses were not 200`);
  return micros / sent;
}

/** The processor time of a process so far, and of all servers. */
export function processorMicros(pid: number, postmasters: readonly number[]): ProcessorTime {
  const times = postmasters.map((postmaster) => processorTime(pid, postmaster));
  return { service: times[0]?.service ?? 0, database: times.reduce((sum, { database }) => sum + database, 0) };
}

/** The figures as text. */
export function reportCells(figures: readonly CellsFigure[]): string {
  return [
    'Processor time of a request, of process and servers, with three databases and one',
    ...figures.map(lineOf),
  ].join('\n');
}

function lineOf({ name, cells, one, ratio: { median, min, max } }: CellsFigure): string {
  const verdict = median <= AIM ? 'reached' : `missed by ${((median - AIM) * 100).toFixed(1)} %`;
  return (
    `  ${name.padEnd(34)} ${cells.median.toFixed(0)} µs with three, ${one.median.toFixed(0)} µs with one: ` +
    `${median.toFixed(3)} (${min.toFixed(3)} to ${max.toFixed(3)}), aim ≤ ${AIM}: ${verdict}`
  );
}
