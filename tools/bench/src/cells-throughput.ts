import { CELLS, makeCells, processorMicros } from './cells-world.js';
import { posting } from './orders.js';
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

const WARM_UP_S = 3;

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
  workshop: Workshop,
  names: readonly string[],
  { seconds, accounts, connections }: CellsThroughputOptions,
): Promise<CellsThroughput> {
  const { service, cells, postmasters } = await makeCells(workshop, { folder: 'throughput', names, accounts });
  const payers = cells.flatMap((cell) => cell.payers);
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
