import type { Channel, TracingChannel } from 'node:diagnostics_channel';
import { isRefusalReason } from '@banking/domain';
import { connectionChannel, pipelineChannel, retryChannel, sqlstateOf, type Database } from '@banking/postgres';
import { orderBatchChannel, verificationChannel } from '@banking/operations';
import { decisionChannel, networkChannel } from '@banking/payouts';
import { ratesChannel } from '@banking/reference';
import { choreChannel, workChannel } from '@banking/work-queue';
import { webhookChannel } from '@banking/webhooks';
import { keyFetchChannel, responseChannel, circuitChannel, upstreamChannel } from '../index.js';
import type { Metrics } from './metric-list.js';
import { labelOf, type MeasuredCell } from './database-values.js';

/** Ends a subscription. */
export type Unsubscribe = () => void;

/** A message of a tracing channel at its end. */
type Ended<Message> = Message & { readonly error?: unknown };

const BEGAN_AT_MS = Symbol('beganAtMs');

/** Calls `handle` for each message. `handle` must not throw: Node would end the process. */
function onMessage<Message>(channel: Channel<unknown, Message>, handle: (message: Message) => void): Unsubscribe {
  const listen = (message: unknown) => handle(message as Message);
  channel.subscribe(listen);
  return () => channel.unsubscribe(listen);
}

/** Calls `handle` at the end of what a tracing channel traces, with its duration. `handle` must not throw. */
function onEnd<Message extends object>(
  channel: TracingChannel<unknown, Message>,
  handle: (message: Ended<Message>, seconds: number) => void,
): Unsubscribe {
  const begin = (message: unknown) => {
    (message as { [BEGAN_AT_MS]?: number })[BEGAN_AT_MS] = performance.now();
  };
  const end = (message: unknown) => {
    const beganAtMs = (message as { [BEGAN_AT_MS]?: number })[BEGAN_AT_MS];
    // It began before the subscription.
    if (beganAtMs === undefined) return;
    handle(message as Ended<Message>, (performance.now() - beganAtMs) / 1000);
  };
  channel.start.subscribe(begin);
  channel.asyncEnd.subscribe(end);
  return () => {
    channel.start.unsubscribe(begin);
    channel.asyncEnd.unsubscribe(end);
  };
}

/** Methods of the interface and of its probes. Callers may send any other one. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'none']);

/** Metrics of the HTTP interface. */
export function collectHttp(metrics: Metrics): readonly Unsubscribe[] {
  const durations = metrics.histogram('banking_http_request_duration_seconds');
  const refusals = metrics.counter('banking_http_refusals_total');
  const authenticationFailures = metrics.counter('banking_authentication_failures_total');
  const replays = metrics.counter('banking_idempotent_replays_total');
  const keysUp = metrics.gauge('banking_issuer_keys_up');
  const ofKeys = onMessage(keyFetchChannel, ({ isFailing }) => keysUp.set(isFailing ? 0 : 1));
  const ofResponses = onMessage(
    responseChannel,
    ({ method, route, status, ms = 0, reason, credentialFault, isReplay }) => {
      const known = METHODS.has(method) ? method : 'other';
      durations.observe({ method: known, route, status }, ms / 1000);
      // A gateway passes on any text of its upstream.
      if (reason !== undefined) refusals.inc({ reason: isRefusalReason(reason) ? reason : 'other' });
      if (credentialFault !== undefined) authenticationFailures.inc({ fault: credentialFault });
      if (isReplay) replays.inc();
    },
  );
  return [ofKeys, ofResponses];
}

/** Metrics of a gateway and its upstream. */
export function collectGateway(metrics: Metrics): readonly Unsubscribe[] {
  const durations = metrics.histogram('banking_upstream_request_duration_seconds');
  const circuit = metrics.gauge('banking_upstream_circuit_open');
  circuit.set(0);
  return [
    onEnd(upstreamChannel, ({ operation, result }, seconds) =>
      durations.observe({ operation, status: result?.status ?? 'failed' }, seconds),
    ),
    onMessage(circuitChannel, ({ state }) => circuit.set(state === 'open' ? 1 : 0)),
  ];
}

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

/** Metrics of the batches of orders. */
export function collectOrders(metrics: Metrics): Unsubscribe {
  const sizes = metrics.histogram('banking_order_batch_size');
  const waits = metrics.histogram('banking_order_batch_wait_seconds');
  const durations = metrics.histogram('banking_order_batch_duration_seconds');
  const locked = metrics.counter('banking_orders_locked_total');
  return onEnd(orderBatchChannel, ({ orders, waitMs, strategy, result = [] }, seconds) => {
    sizes.observe({ strategy }, orders.length);
    waits.observe({ strategy }, waitMs / 1000);
    durations.observe({ strategy }, seconds);
    const lockedCount = result.filter(({ kind }) => kind === 'locked').length;
    if (lockedCount > 0) locked.inc(lockedCount);
  });
}

/** Metrics of a process that does due work. */
export function collectWork(metrics: Metrics): readonly Unsubscribe[] {
  const tries = metrics.histogram('banking_work_duration_seconds');
  const choreFailures = metrics.counter('banking_chore_failures_total');
  const calls = metrics.histogram('banking_network_request_duration_seconds');
  const decisions = metrics.histogram('banking_decision_duration_seconds');
  const runs = metrics.counter('banking_verification_runs_total');
  const rows = metrics.counter('banking_verification_rows_total');
  const webhooks = metrics.histogram('banking_webhook_request_duration_seconds');
  const lastSuccess = metrics.gauge('banking_verification_last_success_timestamp_seconds');
  return [
    onEnd(workChannel, ({ kind, outcome = 'lost' }, seconds) => tries.observe({ kind, outcome }, seconds)),
    onEnd(choreChannel, ({ name, error }) => {
      if (error !== undefined) choreFailures.inc({ chore: name });
    }),
    onEnd(networkChannel, ({ rail, operation, signal, error }, seconds) => {
      const failure = signal?.aborted === true ? 'timeout' : 'failed';
      calls.observe({ rail, operation, outcome: error === undefined ? 'ok' : failure }, seconds);
    }),
    onEnd(decisionChannel, ({ result }, seconds) =>
      decisions.observe({ outcome: result && 'decision' in result ? result.decision : 'none' }, seconds),
    ),
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
