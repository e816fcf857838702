import { describeLeftServers, isOperatorError } from '@banking/deployment';
import { ConfigError, createLogger, ExpiringCache, runService, type RunningService } from '@banking/process';
import { flushMs, logExport, startTracing } from '@banking/telemetry/tracing';
import { readConfig, USAGE } from './config.js';
import { type HealthSource, LastVerification, openMetrics, serveHealth } from './health-server.js';
import { type CellStop, openWorkers } from './open-workers.js';

const STOP_WITHIN_MS = 15_000;
/** How long the health server reuses the state of payouts. */
const STOP_TTL_MS = 1_000;

let isStopping = false;
let log = createLogger({ logLevel: 'info', logPretty: false });

/** Does not migrate, because the service and `banking migrate` do. Does not start with an older schema. */
async function start(signal: AbortSignal): Promise<RunningService> {
  const { deployment: settings, rates, health: address, metrics: metricsAddress, ...config } = readConfig();
  const tracing = await startTracing(config.tracing, (event) => logExport(event, log));
  log = createLogger(config.logging, tracing && (() => ({ ...tracing.activeIds() })));
  const { auditKeptDays, webhooks, decisions } = config;
  const workers = await openWorkers({ deployment: settings, rates, auditKeptDays, webhooks, decisions, log, signal });
  const stops = new ExpiringCache<CellStop | undefined>({
    entriesMax: 1,
    ttlMs: STOP_TTL_MS,
    failureTtlMs: STOP_TTL_MS,
  });
  const verification = new LastVerification();
  const source: HealthSource = {
    isStopping: () => isStopping,
    lastVerification: () => verification.read(),
    readStatus: () => workers.readStatus(),
    readPayoutStop: () => stops.get('stop', () => workers.readPayoutStop()),
  };
  const health = address && (await serveHealth(address, source).catch(explainAddress));
  const metrics = metricsAddress && (await openMetrics(metricsAddress, workers, source));
  workers.start();
  const ports = { ...(health && { healthPort: health.port }), ...(metrics && { metricsPort: metrics.port }) };
  log.info({ sandbox: settings.isSandbox, ...ports }, 'working');
  return {
    async stop(_signal, leftMs) {
      await workers.stop();
      await health?.close();
      await metrics?.close();
      verification.close();
      await tracing?.close(flushMs(leftMs()));
    },
  };
}

function explainAddress(error: NodeJS.ErrnoException): never {
  throw new ConfigError([`HEALTH_HOST and HEALTH_PORT cannot be listened on (${error.code}). Choose others.`]);
}

runService({
  usage: USAGE,
  start,
  onStopping: (signal) => {
    isStopping = true;
    log.info(`${signal}: stopping`);
  },
  onStopped: () => log.info('stopped'),
  stopWithinMs: STOP_WITHIN_MS,
  leftRunning: describeLeftServers,
  isOperatorError,
});
