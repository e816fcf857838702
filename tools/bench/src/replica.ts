import { readFileSync } from 'node:fs';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { ReplicaServer } from '@banking/embedded-postgres/testing';
import { httpLoad, type Measured } from './load.js';
import { makePayers } from './payers.js';
import { processorTime } from './processor-time.js';
import { type BenchTarget, startService } from './service.js';
import { analyzeWorld, inWorkshop } from './world.js';

export interface ReplicaBenchOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly accounts: number;
  readonly onProgress: (line: string) => void;
}

/** Processor time of one page in microseconds, and the times of a response in milliseconds. Medians of the rounds. */
interface PageCost {
  readonly primary: number;
  readonly replica: number;
  readonly service: number;
  readonly p50Ms: number;
  readonly perSecond: number;
}

export interface ReplicaResult {
  readonly connections: number;
  readonly without: PageCost;
  readonly with: PageCost;
}

const PATH = '/transfers?limit=25';
const WARM_UP_S = 3;

/** Measures a page of a list with and without a replica, alone and under concurrent requests. */
export function benchReplica(options: ReplicaBenchOptions): Promise<readonly ReplicaResult[]> {
  return inWorkshop(async ({ folder, runs }) => {
    const { accounts, connections, onProgress } = options;
    const dataDir = folder('replica');
    onProgress(`A database with ${accounts} accounts, and its replica`);
    await makePayers(dataDir, { accounts, workspaces: 1 });
    await analyzeWorld(dataDir);
    const server = await attachEmbeddedServer({ dataDir });
    runs({ stop: () => server.detach() });
    const replica = await ReplicaServer.of(server.connection, { shared_buffers: '256MB' });
    runs({ stop: () => replica.remove() });
    const databases = {
      primary: postmasterOf(replica.primaryPidFile),
      replica: postmasterOf(replica.pidFile),
    };
    const settings = { DATABASE_URL: urlOf(server.connection), SANDBOX: 'on', DEMO_DATA: 'off' };
    const without = runs(await startService(dataDir, { settings }));
    const withReplica = runs(
      await startService(dataDir, {
        settings: { ...settings, DATABASE_REPLICA_URL: urlOf(replica.connection) },
        name: 'with-replica',
      }),
    );
    const results: ReplicaResult[] = [];
    for (const callers of [1, connections]) {
      onProgress(`${PATH}, ${callers} at once`);
      const sides = { without: [] as PageCost[], with: [] as PageCost[] };
      const measure = (service: BenchTarget) => costOf(service, databases, callers, options.seconds);
      for (const service of [without, withReplica]) await measureLoad(service, callers)(WARM_UP_S);
      for (let round = 0; round < options.rounds; round += 1) {
        sides.without.push(await measure(without));
        sides.with.push(await measure(withReplica));
      }
      results.push({ connections: callers, without: medianOf(sides.without), with: medianOf(sides.with) });
    }
    return results;
  });
}

const measureLoad = (answering: BenchTarget, connections: number) =>
  httpLoad({ answering, connections, requests: [{ path: PATH }], expects: 200 });

async function costOf(
  service: BenchTarget,
  { primary, replica }: { readonly primary: number; readonly replica: number },
  connections: number,
  seconds: number,
): Promise<PageCost> {
  const before = [processorTime(service.pid, primary), processorTime(service.pid, replica)] as const;
  const { perSecond, p50Ms }: Measured = await measureLoad(service, connections)(seconds);
  const after = [processorTime(service.pid, primary), processorTime(service.pid, replica)] as const;
  const each = (micros: number) => micros / (perSecond * seconds);
  return {
    primary: each(after[0].database - before[0].database),
    replica: each(after[1].database - before[1].database),
    service: each(after[0].service - before[0].service),
    ...{ p50Ms, perSecond },
  };
}

const urlOf = ({ host, port, user, database }: EmbeddedServer['connection']) =>
  `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;

const postmasterOf = (pidFile: string) => Number.parseInt(readFileSync(pidFile, 'latin1'), 10);

function medianOf(costs: readonly PageCost[]): PageCost {
  const median = (read: (cost: PageCost) => number) =>
    costs.map(read).sort((one, other) => one - other)[Math.floor(costs.length / 2)] ?? NaN;
  return {
    primary: median(({ primary }) => primary),
    replica: median(({ replica }) => replica),
    service: median(({ service }) => service),
    p50Ms: median(({ p50Ms }) => p50Ms),
    perSecond: median(({ perSecond }) => perSecond),
  };
}

/** The result as text. */
export function reportReplica(results: readonly ReplicaResult[]): string {
  const line = (name: string, { primary, replica, service, p50Ms, perSecond }: PageCost) =>
    `  ${name.padEnd(16)} primary ${primary.toFixed(0)} µs, replica ${replica.toFixed(0)} µs, Node ${service.toFixed(0)} µs, ` +
    `median ${p50Ms.toFixed(1)} ms, ${perSecond.toFixed(0)} a second`;
  return results
    .flatMap((result) => [
      `GET ${PATH}, ${result.connections} at once, processor time of a page`,
      line('without replica', result.without),
      line('with replica', result.with),
      `  the primary has ${(100 * (1 - result.with.primary / result.without.primary)).toFixed(0)} % less to do`,
    ])
    .join('\n');
}
