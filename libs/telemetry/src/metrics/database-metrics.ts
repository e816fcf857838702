import { connectionChannel, pipelineChannel, retryChannel, sqlstateOf, type Database } from '@banking/postgres';
import type { Metrics } from './metrics.js';
import { onEnd, onMessage, type Unsubscribe } from './subscriptions.js';

/** Metrics of the connections to the database. */
export function collectDatabase(metrics: Metrics, database: Pick<Database, 'stats'>): readonly Unsubscribe[] {
  const waits = metrics.histogram('banking_database_connection_wait_seconds');
  const refusals = metrics.counter('banking_database_connection_refusals_total');
  const durations = metrics.histogram('banking_database_pipeline_duration_seconds');
  const errors = metrics.counter('banking_database_errors_total');
  const retries = metrics.counter('banking_database_retries_total');
  const connections = metrics.gauge('banking_database_connections', () => {
    const { total, idle } = database.stats();
    connections.set({ state: 'idle' }, idle);
    connections.set({ state: 'used' }, total - idle);
  });
  const waiting = metrics.gauge('banking_database_callers_waiting', () => waiting.set(database.stats().waiting));
  return [
    onMessage(connectionChannel, ({ waitMs, isRefused }) => {
      waits.observe(waitMs / 1000);
      if (isRefused) refusals.inc();
    }),
    onEnd(pipelineChannel, ({ error }, seconds) => {
      durations.observe(seconds);
      if (error !== undefined) errors.inc({ sqlstate: sqlstateOf(error) ?? 'lost' });
    }),
    onMessage(retryChannel, ({ sqlstate }) => retries.inc({ sqlstate })),
  ];
}
