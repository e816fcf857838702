import type { Logger } from 'pino';
import type { Tracing } from '@banking/telemetry/tracing';
import type { Implementation } from './banking.module.js';
import type { ApiConfig } from './config.js';
import { openLedger } from './open-ledger.js';

/**
 * Opens our own books, or the connection to another deployment of the interface. Nothing else in the repository decides which.
 *
 * @throws ConfigError, and the errors of a database that cannot be reached, read or migrated
 */
export async function openImplementation(config: ApiConfig, log: Logger, tracing?: Tracing): Promise<Implementation> {
  const { upstream } = config;
  if (upstream === undefined) return openLedger(config, log);
  const { openUpstream } = await import('./gateway/open-upstream.js');
  return openUpstream(upstream, log, (requestId) => tracing?.headersFor(requestId));
}
