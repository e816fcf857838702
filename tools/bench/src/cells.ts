import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { CELLS, clientOf, makeCells, processorMicros } from './cells-world.js';
import { inPairs, ratiosOf, spreadOf, type Spread } from './comparison.js';
import { orderRequest } from './orders.js';
import type { Payer } from './payers.js';
import type { ProcessorTime } from './processor-time.js';
import type { BenchTarget } from './service.js';
import { inWorkshop, type Workshop } from './world.js';

export interface CellsOptions {
  readonly rounds: number;
  /** Requests of one side in one round. */
  readonly requests: number;
  readonly connections: number;
  readonly accounts: number;
  /** The cell of the workspace, of three. */
  readonly cell: string;
  readonly onProgress: (line: string) => void;
}

/** The processor time of a request through cells, compared with one database. */
export interface CellsFigure {
  readonly name: string;
  /** Microseconds of the process and of all its database servers, without what they use while there are no requests. */
  readonly cells: Spread;
  readonly one: Spread;
  readonly ratio: Spread;
}

const AIM = 1.05;
const SAMPLE = 100;
const SAMPLE_MS = 50;
const WARM_UP_ROUNDS = 3;
const IDLE_MS = 10_000;

interface Side {
  readonly service: BenchTarget;
  readonly payers: readonly Payer[];
  readonly transfers: readonly string[];
  readonly postmasters: readonly number[];
  /** Microseconds of processor time in a millisecond without requests. More servers do more in the background. */
  readonly idle: number;
}

/** Measures what routing over three databases adds to a read and an order. Linux only. */
export function benchCells(options: CellsOptions): Promise<readonly CellsFigure[]> {
  return inWorkshop(async (workshop) => {
    const { rounds, onProgress } = options;
    onProgress('One database');
    const one = await sideOf(workshop, 'one', ['home'], 'home', options);
    onProgress('Three databases');
    const cells = await sideOf(workshop, 'cells', CELLS, options.cell, options);
    onProgress(
      `Idle: ${(cells.idle * 1_000).toFixed(0)} µs a second with three, ${(one.idle * 1_000).toFixed(0)} with one`,
    );
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

/** The service over these cells, and a workspace in one of them. */
async function sideOf(
  workshop: Workshop,
  folder: string,
  names: readonly string[],
  cell: string,
  { accounts }: CellsOptions,
): Promise<Side> {
  const { service, cells, postmasters } = await makeCells(workshop, { folder, names, accounts });
  const { workspaceId, payers } = cells.find(({ name }) => name === cell)!;
  const { items } = await clientOf(service).listTransfers({ workspaceId }, { limit: SAMPLE });
  const transfers = items.map(({ id }) => `/transfers/${id}`);
  const headers = { ...service.headers, 'Workspace-ID': String(workspaceId) };
  return {
    service: { ...service, headers },
    payers,
    transfers,
    postmasters,
    idle: await idleOf(service.pid, postmasters),
  };
}

async function idleOf(pid: number, postmasters: readonly number[]): Promise<number> {
  const [before, startMs] = [processorMicros(pid, postmasters), performance.now()];
  await sleep(IDLE_MS);
  const after = processorMicros(pid, postmasters);
  return (sumOf(after) - sumOf(before)) / (performance.now() - startMs);
}

const sumOf = ({ service, database }: ProcessorTime): number => service + database;

/** @throws Error when a response has another status than 200 */
async function microsPerRequest(
  { service: { url, pid, headers }, postmasters, idle }: Side,
  requests: readonly autocannon.Request[],
  { requests: sent, connections }: CellsOptions,
): Promise<number> {
  const [before, startMs] = [processorMicros(pid, postmasters), performance.now()];
  const { statusCodeStats } = await autocannon({
    ...{ url, connections, amount: sent, headers, requests },
    sampleInt: SAMPLE_MS,
  });
  const after = processorMicros(pid, postmasters);
  const micros = sumOf(after) - sumOf(before) - idle * (performance.now() - startMs);
  const answered = statusCodeStats['200']?.count ?? 0;
  if (answered !== sent) throw new Error(`${sent - answered} of ${sent} responses were not 200`);
  return micros / sent;
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
