import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MetricsConfig, OperatorServer } from '@banking/process';
import type { Workers } from './open-workers.js';

/**
 * Serves the metrics of the worker.
 *
 * @throws ConfigError if the port cannot be listened on
 */
export async function openMetrics(
  address: MetricsConfig,
  { database, cells }: Pick<Workers, 'database' | 'cells'>,
  isReady: () => Promise<boolean>,
): Promise<OperatorServer> {
  const { serveMetrics } = await import('@banking/telemetry/metrics');
  const { version } = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as { version: string };
  const build = { app: 'worker', version, commit: address.commit };
  const measured = { ...build, isHttp: false, isGateway: false, isWorker: true, database, cells, isReady };
  return serveMetrics(address, measured);
}
