import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '@banking/postgres';
import type { MetricsConfig, OperatorServer } from '@banking/process';

/**
 * Serves the metrics of the worker.
 *
 * @throws ConfigError if the port cannot be listened on
 */
export async function openMetrics(
  address: MetricsConfig,
  database: Database,
  isReady: () => Promise<boolean>,
): Promise<OperatorServer> {
  const { serveMetrics } = await import('@banking/telemetry/metrics');
  const { version } = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as { version: string };
  const build = { app: 'worker', version, commit: address.commit };
  const measured = { ...build, isHttp: false, isGateway: false, isWorker: true, database, isReady };
  return serveMetrics(address, measured);
}
