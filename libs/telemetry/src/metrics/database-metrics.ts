import { connectionChannel, pipelineChannel, retryChannel, sqlstateOf, type Database } from '@banking/postgres';
import { labelOf, type MeasuredCell } from './measured-cell.js';
import type { Metrics } from './metrics.js';
import { onEnd, onMessage, type Unsubscribe } from './subscriptions.js';

/** Metrics of the connections to the databases. Waits, round trips, errors and retries are those of all of them. */
export function collectDatabase(
  metrics: Metrics,
  cells: () => readonly MeasuredCell<Pick<Database, 'stats'>>[],
): readonly Unsubscribe[] {
  const waits = metrics.histogram('banking_database_connection_wait_seconds');
  const refusals = metrics.counter('banking_database_connection_refusals_total');
  const durations = metrics.histogram('banking_database_pipeline_duration_seconds');
  const errors = metrics.counter('banking_database_errors_total');
  const retries = metrics.counter('banking_database_retries_total');
  const connections = metrics.gauge('banking_database_connections', () => {
    connections.reset();
    for (const one of cells()) {
      const stats = one.database?.stats();
      if (stats === undefined) continue;
      connections.set({ state: 'idle', ...labelOf(one) }, stats.idle);
      connections.set({ state: 'used', ...labelOf(one) }, stats.total - stats.idle);
    }
  });
  const waiting = metrics.gauge('banking_database_callers_waiting', () => {
    waiting.reset();
    for (const one of cells()) if (one.database) waiting.set(labelOf(one), one.database.stats().waiting);
  });
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
