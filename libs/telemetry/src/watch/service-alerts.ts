import { API, bucket, ON_API, type AlertRule } from './alert-rule.js';

const REQUESTS = 'banking_http_request_duration_seconds';
const WAIT = 'banking_database_connection_wait_seconds';

const counted = (labels: string) => `${REQUESTS}_count{${API}, method="GET", route="/transfers", ${labels}}`;

/** Alerts of a process and its requests. */
export const SERVICE_ALERTS: readonly AlertRule[] = [
  {
    name: 'ServiceDown',
    severity: 'critical',
    expr: 'up{job=~"banking-.+"} == 0',
    for: '1m',
    summary: 'A process does not respond to the scrape.',
    test: {
      firing: { [`up{${API}}`]: '1 0x10' },
      quiet: { [`up{${API}}`]: '1x10' },
      at: '5m',
      labels: ON_API,
    },
  },
  {
    name: 'ServiceNotReady',
    severity: 'critical',
    expr: 'banking_ready == 0',
    for: '1m',
    summary: 'A process runs and is not ready.',
    test: {
      firing: { [`banking_ready{${API}}`]: '1 0x10' },
      quiet: { [`banking_ready{${API}}`]: '1 0 1x10' },
      at: '5m',
      labels: ON_API,
    },
  },
  {
    name: 'ErrorRatio',
    severity: 'critical',
    expr: `sum by (job) (rate(${REQUESTS}_count{status=~"5.."}[5m])) / sum by (job) (rate(${REQUESTS}_count[5m])) > 0.01`,
    for: '5m',
    summary: 'More than 1 % of the responses have a status 5xx.',
    test: {
      firing: { [counted('status="200"')]: '0+300x30', [counted('status="503"')]: '0+30x30' },
      quiet: { [counted('status="200"')]: '0+300x30', [counted('status="503"')]: '0+1x30' },
      at: '20m',
      labels: { job: 'banking-api' },
    },
  },
  {
    name: 'LatencyP99',
    severity: 'warning',
    expr: `histogram_quantile(0.99, sum by (job, le) (rate(${REQUESTS}_bucket[5m]))) > 1`,
    for: '10m',
    summary: 'One response of 100 takes longer than 1 s.',
    test: {
      firing: {
        [bucket(REQUESTS, API, '1')]: '0+95x40',
        [bucket(REQUESTS, API, '2.5')]: '0+100x40',
        [bucket(REQUESTS, API, '+Inf')]: '0+100x40',
      },
      quiet: {
        [bucket(REQUESTS, API, '1')]: '0+100x40',
        [bucket(REQUESTS, API, '2.5')]: '0+100x40',
        [bucket(REQUESTS, API, '+Inf')]: '0+100x40',
      },
      at: '30m',
      labels: { job: 'banking-api' },
    },
  },
  {
    name: 'PoolWaiting',
    severity: 'warning',
    expr: `histogram_quantile(0.95, sum by (job, instance, le) (rate(${WAIT}_bucket[5m]))) > 0.25`,
    for: '5m',
    summary: 'Callers wait long for a database connection.',
    test: {
      firing: {
        [bucket(WAIT, API, '0.25')]: '0+50x40',
        [bucket(WAIT, API, '0.5')]: '0+100x40',
        [bucket(WAIT, API, '+Inf')]: '0+100x40',
      },
      quiet: {
        [bucket(WAIT, API, '0.25')]: '0+100x40',
        [bucket(WAIT, API, '0.5')]: '0+100x40',
        [bucket(WAIT, API, '+Inf')]: '0+100x40',
      },
      at: '20m',
      labels: ON_API,
    },
  },
  {
    name: 'LockTimeouts',
    severity: 'warning',
    expr: 'sum by (job) (increase(banking_database_errors_total{sqlstate="55P03"}[10m])) > 5',
    for: '5m',
    summary: 'Statements wait for locks until they are given up.',
    test: {
      firing: { [`banking_database_errors_total{${API}, sqlstate="55P03"}`]: '0+2x30' },
      quiet: { [`banking_database_errors_total{${API}, sqlstate="40001"}`]: '0+2x30' },
      at: '20m',
      labels: { job: 'banking-api' },
    },
  },
  {
    name: 'CircuitOpen',
    severity: 'critical',
    expr: 'banking_upstream_circuit_open == 1',
    for: '1m',
    summary: 'A gateway sends nothing to its upstream, because it fails.',
    test: {
      firing: { [`banking_upstream_circuit_open{job="banking-gateway", instance="g"}`]: '0 1x10' },
      quiet: { [`banking_upstream_circuit_open{job="banking-gateway", instance="g"}`]: '0 1 0x10' },
      at: '5m',
      labels: { job: 'banking-gateway', instance: 'g' },
    },
  },
  {
    name: 'RatesOld',
    severity: 'warning',
    expr:
      'time() - max(banking_rates_as_of_timestamp_seconds) > 1800 and ' +
      'sum(increase(banking_rates_requests_total{outcome="failed"}[10m])) > 0',
    for: '1m',
    summary: 'The source of exchange rates fails, and the last rates are older than 30 minutes.',
    test: {
      firing: {
        [`banking_rates_as_of_timestamp_seconds{${API}}`]: '0x60',
        [`banking_rates_requests_total{${API}, outcome="failed"}`]: '0+1x60',
      },
      quiet: {
        [`banking_rates_as_of_timestamp_seconds{${API}}`]: '0x60',
        [`banking_rates_requests_total{${API}, outcome="failed"}`]: '0x60',
      },
      at: '40m',
      labels: {},
    },
  },
  {
    name: 'EventLoopDelay',
    severity: 'warning',
    expr: 'nodejs_eventloop_lag_p99_seconds{job=~"banking-.+"} > 0.2',
    for: '5m',
    summary: 'The event loop of a process is blocked for longer than 200 ms.',
    test: {
      firing: { [`nodejs_eventloop_lag_p99_seconds{${API}}`]: '0.3x20' },
      quiet: { [`nodejs_eventloop_lag_p99_seconds{${API}}`]: '0.02x20' },
      at: '10m',
      labels: ON_API,
    },
  },
  {
    name: 'MemoryHigh',
    severity: 'warning',
    expr: 'process_resident_memory_bytes{job=~"banking-.+"} > 420e6',
    for: '15m',
    summary: 'A process uses more than 420 MB of memory.',
    test: {
      firing: { [`process_resident_memory_bytes{${API}}`]: '700000000x40' },
      quiet: { [`process_resident_memory_bytes{${API}}`]: '260000000x40' },
      at: '30m',
      labels: ON_API,
    },
  },
  {
    name: 'IssuerKeysOld',
    severity: 'critical',
    expr: 'banking_issuer_keys_up == 0',
    for: '2m',
    summary: 'The keys of the identity provider cannot be fetched. Known keys are used for 12 hours.',
    test: {
      firing: { [`banking_issuer_keys_up{${API}}`]: '1 0x10' },
      quiet: { [`banking_issuer_keys_up{${API}}`]: '1 0 1x10' },
      at: '6m',
      labels: ON_API,
    },
  },
  {
    name: 'CredentialsRefused',
    severity: 'warning',
    expr: 'sum by (job) (rate(banking_authentication_failures_total[5m])) > 5',
    for: '5m',
    summary: 'More than five credentials a second are refused.',
    test: {
      firing: { [`banking_authentication_failures_total{${API}, fault="signature"}`]: '0+600x30' },
      quiet: { [`banking_authentication_failures_total{${API}, fault="expired"}`]: '0+60x30' },
      at: '20m',
      labels: { job: 'banking-api' },
    },
  },
];
