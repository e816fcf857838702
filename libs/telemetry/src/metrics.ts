/** Metrics of a process for Prometheus. Load it only in a process that serves metrics. */

import {
  ConfigError,
  serveOperators,
  type OperatorResponse,
  type OperatorServer,
  type ServerAddress,
} from '@banking/process';
import {
  collectDatabase,
  collectGateway,
  collectHttp,
  collectOrders,
  type Unsubscribe,
  collectRates,
  collectWork,
} from './metrics/channel-metrics.js';
import { DatabaseValues, type MeasuredCell, type MeasuredDatabase } from './metrics/database-values.js';
import { Metrics } from './metrics/metric-list.js';
import { collectProcess, type Build } from './metrics/process-metrics.js';

/** How long a scrape waits for the readiness of the process. */
const READY_MAX_MS = 3_000;

/** The parts of a process that have metrics. */
export interface MeasuredProcess extends Build {
  /** Whether it serves the HTTP interface. */
  readonly isHttp: boolean;
  readonly isGateway: boolean;
  /** Whether it does due work. */
  readonly isWorker: boolean;
  /** Undefined for a gateway. The only database, or home. */
  readonly database?: MeasuredDatabase | undefined;
  /** The databases of all cells, home first; without one that is away. Undefined without cells. */
  readonly cells?: (() => readonly MeasuredCell[]) | undefined;
  /** Whether `/health/ready` would respond with 200. */
  isReady(): Promise<boolean>;
  /** The readiness with its details. */
  readReadiness?(): Promise<OperatorResponse>;
}

/**
 * Serves `GET /metrics`, and `GET /health/ready` with details, and collects metrics until the server is closed.
 *
 * @throws ConfigError if the port cannot be listened on
 */
export async function serveMetrics(address: ServerAddress, measured: MeasuredProcess): Promise<OperatorServer> {
  const metrics = new Metrics();
  const unsubscribe = collect(metrics, measured);
  const { registry } = metrics;
  const endCollection = () => {
    for (const end of unsubscribe) end();
    registry.clear();
  };
  try {
    const server = await serveOperators(address, {
      '/metrics': async () => ({ status: 200, type: registry.contentType, body: await registry.metrics() }),
      ...(measured.readReadiness && { '/health/ready': () => measured.readReadiness!() }),
    });
    return { port: server.port, close: () => server.close().finally(endCollection) };
  } catch (error) {
    endCollection();
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError([`METRICS_HOST and METRICS_PORT cannot be listened on (${code}). Choose others.`]);
  }
}

/** A scrape ends after ten seconds, so an upstream that is silent for longer counts as not ready. */
function isReadyInTime({ isReady }: MeasuredProcess): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), READY_MAX_MS)));
  return Promise.race([isReady(), late]).finally(() => clearTimeout(timer));
}

function collect(metrics: Metrics, measured: MeasuredProcess): readonly Unsubscribe[] {
  const { isHttp, isGateway, isWorker, database } = measured;
  const endProcess = collectProcess(metrics, measured);
  const ready = metrics.gauge('banking_ready', async () => ready.set((await isReadyInTime(measured)) ? 1 : 0));
  const cells: () => readonly MeasuredCell[] = measured.cells ?? (() => [{ database }]);
  if (database) new DatabaseValues(metrics, cells);
  return [
    endProcess,
    ...(isHttp ? collectHttp(metrics) : []),
    ...(isGateway ? collectGateway(metrics) : []),
    ...(database ? [...collectDatabase(metrics, cells), collectOrders(metrics), collectRates(metrics)] : []),
    ...(isWorker ? collectWork(metrics) : []),
  ];
}
