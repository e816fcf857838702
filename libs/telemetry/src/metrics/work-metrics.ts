import { verificationChannel } from '@banking/operations';
import { networkChannel } from '@banking/payouts';
import { ratesChannel } from '@banking/reference';
import { choreChannel, workChannel } from '@banking/work-queue';
import { webhookChannel } from '@banking/webhooks';
import { labelOf } from './measured-cell.js';
import type { Metrics } from './metrics.js';
import { onEnd, onMessage, type Unsubscribe } from './subscriptions.js';

/** Metrics of a process that does due work. */
export function collectWork(metrics: Metrics): readonly Unsubscribe[] {
  const tries = metrics.histogram('banking_work_duration_seconds');
  const choreFailures = metrics.counter('banking_chore_failures_total');
  const calls = metrics.histogram('banking_network_request_duration_seconds');
  const runs = metrics.counter('banking_verification_runs_total');
  const rows = metrics.counter('banking_verification_rows_total');
  const webhooks = metrics.histogram('banking_webhook_request_duration_seconds');
  const lastSuccess = metrics.gauge('banking_verification_last_success_timestamp_seconds');
  return [
    onEnd(workChannel, ({ kind, outcome = 'lost' }, seconds) => tries.observe({ kind, outcome }, seconds)),
    onEnd(choreChannel, ({ name, error }) => {
      if (error !== undefined) choreFailures.inc({ chore: name });
    }),
    onEnd(networkChannel, ({ operation, signal, error }, seconds) => {
      const failure = signal?.aborted === true ? 'timeout' : 'failed';
      calls.observe({ operation, outcome: error === undefined ? 'ok' : failure }, seconds);
    }),
    onMessage(webhookChannel, ({ outcome, seconds }) => webhooks.observe({ outcome }, seconds)),
    onMessage(verificationChannel, ({ subject, outcome, rows: count, cell }) => {
      runs.inc({ subject, outcome });
      if (outcome !== 'proven') return;
      rows.inc({ subject }, count);
      lastSuccess.set({ subject, ...labelOf({ cell }) }, Date.now() / 1000);
    }),
  ];
}

/** Metrics of the source of exchange rates, which quotes, orders and their runs use. */
export function collectRates(metrics: Metrics): Unsubscribe {
  const requests = metrics.counter('banking_rates_requests_total');
  const dates = metrics.gauge('banking_rates_as_of_timestamp_seconds');
  return onMessage(ratesChannel, ({ asOf }) => {
    requests.inc({ outcome: asOf === undefined ? 'failed' : 'ok' });
    if (asOf !== undefined) dates.set(Date.parse(asOf) / 1000);
  });
}
