import type { Moment } from './compare-books.js';
import { checkRecovered, type RecoveryFigures } from './check-recovered.js';
import type { PostgresPrograms } from './postgres-programs.js';
import { createDatabase, PostgresServer } from './postgres-server.js';
import { RecoveryLoad } from './recovery-load.js';
import { Service } from './service.js';
import { type NetworkCopy, readNetwork } from './surviving-network.js';

export interface RecoveryOptions {
  readonly programs: PostgresPrograms;
  readonly seed: number;
  /** Acknowledged orders before the backup, and again after it. */
  readonly orders: number;
  /** Transfers in the books before the orders. */
  readonly transfers: number;
  /** An empty folder that every user may enter. */
  readonly folder: string;
  readonly onProgress: (line: string) => void;
}

/** A way to lose a server and to recover its books. */
export interface RecoveryKind {
  readonly name: string;
  readonly title: string;
  /** Settings of the server that is lost. */
  readonly settings?: (folder: string) => readonly string[];
  /** Whether DATABASE_URL names the lost server and the other one, instead of an address that is switched. */
  readonly hasTwoHosts?: boolean;
  /** Whether the worker goes on. Then the network is that of the recovered books. */
  readonly keepsWorker?: boolean;
  /** As docs/maintain.md describes; without it the ids of lost orders are given again. */
  readonly advanceIds: boolean;
  /** Loses the server and recovers another one, while the load runs or after it has stopped. */
  recover(run: RecoveryRun): Promise<RecoveredServer>;
}

export interface RecoveredServer {
  readonly server: PostgresServer;
  readonly moment: Moment;
  readonly seconds: Seconds;
  /** What was wrong before the books are read. */
  readonly violations?: readonly string[];
}

/** How long the steps took, by their names. */
type Seconds = Readonly<Record<string, number>>;

export interface RecoveryResult extends RecoveryFigures {
  readonly kind: RecoveryKind;
  readonly seconds: Seconds;
}

/** A server under load that will be lost. */
export interface RecoveryRun {
  readonly options: RecoveryOptions;
  readonly primary: PostgresServer;
  readonly service: Service;
  readonly load: RecoveryLoad;
  /** Another server, without data. */
  readonly replacement: PostgresServer;
  /** Measures a step. */
  timed<T>(name: string, seconds: Record<string, number>, work: () => Promise<T>): Promise<T>;
}

/** Runs the service on a server of its own, loses that server under load, and proves the recovered books. */
export async function runRecovery(kind: RecoveryKind, options: RecoveryOptions): Promise<RecoveryResult> {
  const { programs, folder, seed } = options;
  const onProgress = (line: string) => options.onProgress(`${kind.name}: ${line}`);
  const servers: PostgresServer[] = [];
  const addServer = async (name: string) => {
    const server = await PostgresServer.inFolder(programs, `${folder}/${name}`);
    servers.push(server);
    return server;
  };
  let service: Service | undefined;
  let load: RecoveryLoad | undefined;
  try {
    onProgress('starting PostgreSQL, two api processes and a worker');
    const primary = await addServer('primary');
    await primary.initialize(kind.settings?.(primary.folder));
    await primary.start();
    await createDatabase(primary);
    const recovered = await addServer('recovered');
    service = await Service.start(folder, kind.hasTwoHosts ? [primary, recovered] : [primary]);
    if (options.transfers > 0) {
      onProgress(`posting ${options.transfers} transfers`);
      await service.fund(options.transfers);
    }
    load = await RecoveryLoad.prepare(service, folder, seed);
    load.start();
    await load.more(options.orders);
    const {
      server,
      moment,
      seconds,
      violations = [],
    } = await kind.recover({
      ...{ options: { ...options, onProgress }, primary, service, load },
      replacement: recovered,
      timed: async (name, into, work) => {
        onProgress(name);
        const startedAt = Date.now();
        const result = await work();
        into[name] = (Date.now() - startedAt) / 1000;
        return result;
      },
    });
    await load.stop();
    await service.killWorker();
    const network = kind.keepsWorker ? await readNetwork(server) : await readLostNetwork(primary);
    const { advanceIds } = kind;
    const figures = await checkRecovered({ server, service, load, network, moment, advanceIds, onProgress });
    return { kind, seconds, ...figures, violations: [...violations, ...figures.violations] };
  } finally {
    await load?.close().catch(() => undefined);
    await service?.close();
    for (const server of servers) await server.stop('SIGQUIT');
  }
}

/** The network goes on until the worker is killed. The lost server, of which no service may learn, still has it. */
async function readLostNetwork(lost: PostgresServer): Promise<NetworkCopy> {
  await lost.stop('SIGQUIT');
  await lost.start({ port: 5433 });
  const network = await readNetwork(lost);
  await lost.stop();
  return network;
}
