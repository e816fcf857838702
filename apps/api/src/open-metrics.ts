import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '@banking/domain';
import type { OperatorResponse, OperatorServer } from '@banking/process';
import type { Implementation } from './banking.module.js';
import type { ApiConfig } from './config.js';
import { type Draining, SharedReadiness } from './health/readiness.js';

/**
 * Serves the metrics of this process if they have a port. Otherwise no library for metrics is loaded.
 *
 * @throws ConfigError if the port cannot be listened on
 */
export async function openMetrics(
  { metrics: address, upstream, worker }: ApiConfig,
  { database, cells, readiness }: Implementation,
  draining: Draining,
): Promise<OperatorServer | undefined> {
  if (!address) return undefined;
  const { serveMetrics } = await import('@banking/telemetry/metrics');
  const shared = new SharedReadiness(readiness);
  const readReadiness = () => readinessFor(shared, draining);
  const { version } = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as { version: string };
  return serveMetrics(address, {
    app: upstream ? 'gateway' : 'api',
    version,
    commit: address.commit,
    isHttp: true,
    isGateway: upstream !== undefined,
    isWorker: worker,
    database,
    cells,
    isReady: async () => (await readReadiness()).status === 200,
    readReadiness,
  });
}

/** The details of `/health/ready`, which only operators get. */
async function readinessFor(shared: SharedReadiness, draining: Draining): Promise<OperatorResponse> {
  if (draining.begun) return { status: 503, body: { status: 'stopping' } };
  return shared.read().then(
    (work) => ({ status: 200, body: { status: 'ok', ...(work && { work }) } }),
    (error: unknown) => ({
      status: 503,
      body: { status: 'unavailable', ...(error instanceof Refusal && { reason: error.message }) },
    }),
  );
}
