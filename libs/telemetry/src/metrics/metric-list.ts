import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** One metric. Its unit is the end of its name, as Prometheus recommends. */
export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** For `# HELP`. */
  readonly help: string;
  readonly labels: readonly string[];
  /** The upper bounds of a histogram. */
  readonly buckets?: readonly number[];
  /** Whether its name is the usual one for processes of Node, and not ours. */
  readonly isUsual?: boolean;
}

const counter = (labels: readonly string[], help: string) => ({ type: 'counter', labels, help }) as const;

const gauge = (labels: readonly string[], help: string) => ({ type: 'gauge', labels, help }) as const;

const histogram = (labels: readonly string[], buckets: readonly number[], help: string) =>
  ({ type: 'histogram', labels, buckets, help }) as const;

/** A metric of Node or of the process, with the name that is usual for it. */
const ofRuntime = <const Type extends 'counter' | 'gauge'>(type: Type, help: string) =>
  ({ type, labels: [], help, isUsual: true }) as const;

const REQUEST_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
const STATEMENT_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5];
const WAIT_S = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 5, 12];
const WEBHOOK_S = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
const WORK_S = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const ORDERS = [1, 2, 4, 8, 16, 32, 64];

/**
 * All metrics, by name. Alert rules and the dashboard may name no other.
 *
 * No label has an id, a name, an amount or an account code. The values of each label are bounded. With several databases, `cell` is the
 * name of one of at most 64; without them, no series has it.
 */
export const METRICS = {
  banking_http_request_duration_seconds: histogram(
    ['method', 'route', 'status'],
    REQUEST_S,
    'Time to respond. The route is a template, or none for an unknown path.',
  ),
  banking_http_refusals_total: counter(
    ['reason'],
    'Error responses by reason, such as rate_limited and idempotency_key_reused.',
  ),
  banking_authentication_failures_total: counter(
    ['fault'],
    'Refused credentials, such as missing, expired and signature.',
  ),
  banking_issuer_keys_up: gauge(
    [],
    '1 if the last fetch of the keys of the identity provider has succeeded; 0 if it has failed.',
  ),
  banking_idempotent_replays_total: counter([], 'Repeated requests that received the stored response of their key.'),

  banking_order_batch_size: histogram(
    ['strategy'],
    ORDERS,
    'Orders in a batch. The strategy contended waits for locks of other sessions.',
  ),
  banking_order_batch_wait_seconds: histogram(
    ['strategy'],
    WAIT_S,
    'How long the longest waiting order of a batch has waited for it.',
  ),
  banking_order_batch_duration_seconds: histogram(
    ['strategy'],
    STATEMENT_S,
    'Time to carry out a batch, from its locks to its commit.',
  ),
  banking_orders_locked_total: counter(
    [],
    'Orders that left a batch because another session had locked their account.',
  ),

  banking_database_connections: gauge(['state', 'cell'], 'Connections of the pool: idle and used.'),
  banking_database_callers_waiting: gauge(['cell'], 'Callers that wait for a connection now.'),
  banking_database_connection_wait_seconds: histogram([], WAIT_S, 'How long a caller waited for a connection.'),
  banking_database_connection_refusals_total: counter([], 'Callers that received no connection in time.'),
  banking_database_pipeline_duration_seconds: histogram(
    [],
    STATEMENT_S,
    'Time of a round trip with one or more SQL statements.',
  ),
  banking_database_errors_total: counter(
    ['sqlstate'],
    'Failed round trips by SQLSTATE: 55P03 is a lock timeout, lost a lost connection.',
  ),
  banking_database_retries_total: counter(
    ['sqlstate'],
    'Retries after a deadlock (40P01) or a serialization failure (40001).',
  ),
  banking_database_values_up: gauge(
    ['cell'],
    '1 if the values of due work and payouts were read; 0 if they are left out.',
  ),

  banking_work_due: gauge(['kind', 'rail', 'cell'], 'Work that a worker could claim now; 1000 means that or more.'),
  banking_work_oldest_due_seconds: gauge(
    ['kind', 'rail', 'cell'],
    'For how long the longest due work could have been claimed; 0 without any.',
  ),
  banking_work_parked: gauge(['kind', 'cell'], 'Work that waits for an operator; 1000 means that or more.'),
  banking_payouts_open: gauge(
    ['rail', 'status', 'cell'],
    'Payouts of a payment network without a final status, of at most 250 whose next step is the soonest, and 250 parked ones.',
  ),
  banking_payouts_oldest_seconds: gauge(['rail', 'status', 'cell'], 'Age of the oldest of these payouts.'),
  banking_payouts_held: gauge(
    ['rail', 'cell'],
    'Payouts that wait for the decision of a hook or an operator, of at most 1000 the oldest.',
  ),
  banking_payouts_held_oldest_seconds: gauge(['rail', 'cell'], 'Age of the oldest of them.'),
  banking_payouts_stopped: gauge(['cell'], '1 while payouts are stopped because of a finding.'),
  banking_bank_differences: gauge(
    ['rail', 'cell'],
    'Differences between the bank accounts of a payment network of files and the books.',
  ),
  banking_bank_comparison_age_seconds: gauge(['rail', 'cell'], 'Age of the oldest comparison of these accounts.'),
  banking_bank_files_refused: gauge(
    ['rail', 'cell'],
    'Files of the bank in the folder of refused ones, where an operator handles them.',
  ),
  banking_work_duration_seconds: histogram(
    ['kind', 'outcome'],
    WORK_S,
    'Time of a try, such as a payout, until its result is recorded.',
  ),
  banking_chore_failures_total: counter(['chore'], 'Failed runs of a chore of the worker.'),
  banking_network_request_duration_seconds: histogram(
    ['rail', 'operation', 'outcome'],
    WORK_S,
    'Time of a call of a payment network. The outcome is ok, failed or timeout. A receive may wait for events.',
  ),

  banking_decision_duration_seconds: histogram(
    ['outcome'],
    WORK_S,
    'Time of a question to the decision hook. The outcome is approve, hold or reject, or none without a decision.',
  ),

  banking_events_unrecorded: gauge(['cell'], 'Statements whose changes are not events yet; 10000 means that or more.'),
  banking_events_oldest_unrecorded_seconds: gauge(['cell'], 'Age of the oldest of them.'),

  banking_webhook_request_duration_seconds: histogram(
    ['outcome'],
    WEBHOOK_S,
    'Requests to endpoints of webhooks. Outcome: delivered or failed.',
  ),
  banking_webhook_endpoints: gauge(['status', 'cell'], 'Endpoints that are enabled, failing or disabled.'),
  banking_webhook_deliveries_due: gauge(['cell'], 'Deliveries whose next attempt is due; 10000 means that or more.'),
  banking_webhook_oldest_undelivered_seconds: gauge(
    ['cell'],
    'Age of the oldest event behind the cursor of an enabled endpoint.',
  ),

  banking_audit_unrecorded: gauge(
    ['cell'],
    'Committed changes that are not in the audit trail yet, by batch; 10000 means that or more.',
  ),
  banking_audit_oldest_unrecorded_seconds: gauge(['cell'], 'Age of the oldest of them.'),

  banking_verification_runs_total: counter(
    ['subject', 'outcome'],
    'Runs: proven, findings, busy (another worker verifies), stopped, or closed (a workspace is not served).',
  ),
  banking_verification_rows_total: counter(['subject'], 'Rows without a finding.'),
  banking_verification_last_success_timestamp_seconds: gauge(
    ['subject', 'cell'],
    'When this process last verified without a finding.',
  ),
  banking_verification_findings: gauge(['cell'], 'Findings of the open stop of payouts; 0 without a stop.'),

  banking_directory_copy_connected: gauge(['cell'], '1 while the cell receives changes of the directory from home.'),
  banking_directory_copy_behind_bytes: gauge(
    ['cell'],
    'Log of home that the copy of the directory in the cell has not confirmed.',
  ),
  banking_directory_slot_retained_bytes: gauge(
    ['cell'],
    'Log that home keeps for the copy, on the disk of its server.',
  ),
  banking_directory_copy_lost: gauge(
    ['cell'],
    '1 if the copy lacks changes of home or cannot continue, and must be made anew.',
  ),
  banking_workspaces_unserved: gauge(
    ['cell'],
    'Workspaces that home places in the cell, which does not serve them, and which are not being moved.',
  ),

  banking_rates_requests_total: counter(['outcome'], 'Requests to the source of rates: ok or failed.'),
  banking_rates_as_of_timestamp_seconds: gauge(
    [],
    'Time of the rates by their own date. Missing before the first document.',
  ),

  banking_upstream_request_duration_seconds: histogram(
    ['operation', 'status'],
    REQUEST_S,
    'Time of a request to the upstream. The status is failed without a response.',
  ),
  banking_upstream_circuit_open: gauge([], '1 while the circuit breaker is open, which is until a probe succeeds.'),

  banking_ready: gauge([], '1 if /health/ready would respond with 200.'),
  banking_build_info: gauge(['app', 'version', 'commit', 'node'], 'Always 1. The labels describe the program.'),
  banking_event_loop_utilization_ratio: gauge(
    [],
    'Part of the time since the last scrape in which the event loop was busy.',
  ),
  nodejs_eventloop_lag_p50_seconds: ofRuntime('gauge', 'Median interval of a timer of 20 ms since the last scrape.'),
  nodejs_eventloop_lag_p99_seconds: ofRuntime('gauge', '99th percentile of that interval.'),
  nodejs_eventloop_lag_max_seconds: ofRuntime('gauge', 'Longest such interval.'),
  nodejs_heap_size_used_bytes: ofRuntime('gauge', 'Used heap of JavaScript.'),
  nodejs_heap_size_total_bytes: ofRuntime('gauge', 'Heap of JavaScript.'),
  process_cpu_seconds_total: ofRuntime('counter', 'Processor time of the process.'),
  process_resident_memory_bytes: ofRuntime('gauge', 'Resident memory.'),
  process_start_time_seconds: ofRuntime('gauge', 'When the process started.'),
  process_open_fds: ofRuntime('gauge', 'Open files and sockets. Linux only.'),
} as const satisfies Readonly<Record<string, Metric>>;

type Rows = typeof METRICS;
type NamesOf<Type extends Metric['type']> = {
  [Name in keyof Rows]: Rows[Name] extends { readonly type: Type } ? Name : never;
}[keyof Rows];

export type CounterName = NamesOf<'counter'>;
export type GaugeName = NamesOf<'gauge'>;
export type HistogramName = NamesOf<'histogram'>;

/** The metrics of a process. Each is registered when it is used first, so that a process has no metrics of parts that it lacks. */
export class Metrics {
  readonly registry = new Registry();
  private readonly registered = new Map<string, unknown>();

  counter(name: CounterName, collect?: () => void): Counter {
    return this.registeredAs(name, (options) => new Counter({ ...options, ...(collect && { collect }) }));
  }

  /** It has no value before it is set. */
  gauge(name: GaugeName, collect?: () => Promise<void> | void): Gauge {
    return this.registeredAs(name, (options) => {
      const gauge = new Gauge({ ...options, ...(collect && { collect }) });
      // prom-client begins with 0, which would be a value.
      if (METRICS[name].labels.length === 0) gauge.remove();
      return gauge;
    });
  }

  histogram(name: HistogramName): Histogram {
    const { buckets }: Metric = METRICS[name];
    return this.registeredAs(
      name,
      (options) => new Histogram({ ...options, ...(buckets && { buckets: [...buckets] }) }),
    );
  }

  private registeredAs<T>(name: keyof typeof METRICS, make: (options: MetricOptions) => T): T {
    const known = this.registered.get(name);
    if (known !== undefined) return known as T;
    const { help, labels } = METRICS[name];
    const made = make({ name, help, labelNames: [...labels], registers: [this.registry] });
    this.registered.set(name, made);
    return made;
  }
}

interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly registers: Registry[];
}
