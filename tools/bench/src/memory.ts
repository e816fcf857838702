import { httpLoad, residentMbOf } from './load.js';
import { orderRequest } from './orders.js';
import { makePayers } from './payers.js';
import { RESIDENT_AIM_MB } from './reads.js';
import type { Result } from './request.js';
import type { Residence } from './residence.js';
import { inWorkshop, makeWorld } from './world.js';

export interface MemoryOptions {
  readonly seconds: number;
  readonly connections: number;
  readonly transfers: number;
  readonly accounts: number;
  readonly onProgress: (line: string) => void;
}

/** Less than this is flat: the heap of a process varies by more between two garbage collections. */
const SLOPE_AIM_MB_PER_MINUTE = 1;
const SAMPLE_EVERY_MS = 1_000;
const TELL_EVERY = 60;

/** Measures the memory of the service under a load of orders, reads and lists. */
export function benchMemory(options: MemoryOptions): Promise<Result> {
  return inWorkshop(async ({ folder, runs }) => {
    const { seconds, connections, transfers, accounts, onProgress } = options;
    const dataDir = folder('memory');
    const { accounts: payers } = await makePayers(dataDir, { accounts, workspaces: 1 });
    const { service, transferPaths } = await makeWorld(dataDir, transfers, onProgress);
    runs(service);
    const order = orderRequest(service, payers);
    const reads = transferPaths.map((path) => ({ path }));
    const others = ['/transfers?limit=25', '/orders?limit=25', '/accounts?limit=25', '/products'].map((path) => ({
      path,
    }));
    // One order to two reads and one list.
    const requests = reads.flatMap((read, turn) => [order, read, read, others[turn % others.length]!]);
    const load = httpLoad({ answering: service, connections, requests, expects: 200 });

    onProgress(`${connections} connections for ${seconds} s`);
    const samplesMb: number[] = [];
    const sampling = setInterval(() => {
      samplesMb.push(residentMbOf(service.pid));
      if (samplesMb.length % TELL_EVERY === 0)
        onProgress(`  ${samplesMb.length} s: ${samplesMb.at(-1)?.toFixed(0)} MB`);
    }, SAMPLE_EVERY_MS);
    await load(seconds).finally(() => clearInterval(sampling));
    samplesMb.push(residentMbOf(service.pid));
    const residence: Residence = {
      name: `Resident memory in ${seconds} s of orders, reads and lists`,
      everyMs: SAMPLE_EVERY_MS,
      samplesMb,
      highestAimMb: RESIDENT_AIM_MB,
      slopeAimMbPerMinute: SLOPE_AIM_MB_PER_MINUTE,
    };
    return { comparisons: [], residentMb: undefined, residences: [residence] };
  });
}
