import {
  ConfigError,
  type DecisionsConfig,
  type DeploymentConfig,
  type Environment,
  type LogConfig,
  type MetricsConfig,
  type RatesConfig,
  readAuditKeptDays,
  readDecisions,
  readLogging,
  readMetrics,
  readDeployment,
  readerOf,
  readRates,
  readTracing,
  readWebhooks,
  type TracingConfig,
  type WebhooksConfig,
} from '@banking/process';

export interface Config {
  readonly deployment: DeploymentConfig;
  readonly logging: LogConfig;
  readonly rates?: RatesConfig | undefined;
  /** How long entries of the audit trail are kept, in days. */
  readonly auditKeptDays: number;
  /** The keys that encrypt the secrets of webhook endpoints, and the private networks that endpoints may be in. */
  readonly webhooks: WebhooksConfig;
  /** The hook that decides payouts before they are submitted. */
  readonly decisions?: DecisionsConfig | undefined;
  readonly health?: { readonly host: string; readonly port: number } | undefined;
  readonly metrics?: MetricsConfig | undefined;
  readonly tracing?: TracingConfig | undefined;
}

/**
 * Reads the environment. An empty variable counts as unset. The variables have the same meaning as for the service.
 *
 * @throws ConfigError
 */
export function readConfig(environment: Environment = process.env, isTerminal = process.stdout.isTTY === true): Config {
  const reader = readerOf(environment);
  const { text, whole, mistakes } = reader;
  const healthPort = whole('HEALTH_PORT', 0, 65_535);
  const config: Config = {
    deployment: readDeployment(reader),
    logging: readLogging(reader, isTerminal),
    rates: readRates(reader),
    auditKeptDays: readAuditKeptDays(reader),
    webhooks: readWebhooks(reader),
    decisions: readDecisions(reader),
    tracing: readTracing(reader, 'banking-worker'),
    health: healthPort === undefined ? undefined : { host: text('HEALTH_HOST') ?? '127.0.0.1', port: healthPort },
    metrics: readMetrics(reader),
  };
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}

/** The variables that are read here, for `--help`. */
export const USAGE = `Usage: npm run worker

Does the due work of a deployment, such as scheduled orders and payouts. Several workers may run at the same time,
also beside a service with WORKER=off. Ctrl-C stops the worker after the current work.

Options:
  -h, --help  print this help

Environment variables (default in parentheses; docs/configuration.md explains each):
  DATABASE_URL                                   PostgreSQL server (without it: the embedded database)
  DATABASE_URL_FILE                              file with this URL, read at the start
  DATABASE_PASSWORD_FILE                         file with the password, read for each connection
  DATABASE_POOL_SIZE, DATABASE_POOLER            number of connections, and the mode of PgBouncer in front (8, none)
  DATABASE_NAMED_STATEMENTS                      whether statements have names (on without DATABASE_POOLER)
  DATABASE_TLS                                   off: connect to another host without verifying its certificate (on)
  CELLS, CELLS_FILE                              number of embedded databases, or a file that lists those besides DATABASE_URL
  DATA_DIR                                       folder of the embedded database (.data)
  SANDBOX                                        on for demo money, off for real money (on without DATABASE_URL)
  DATABASE_OWNER_URL, DATABASE_OWNER_URL_FILE, DATABASE_OWNER_PASSWORD_FILE, DATABASE_REPLICA_URL,
  DATABASE_REPLICA_URL_FILE, DATABASE_REPLICA_PASSWORD_FILE, DEMO_DATA, REFERENCE_FILE
                                                 validated, but not used by the worker
  RAILS_FILE                                     file that lists the payment networks (a sandbox: its own; else none)
  RATES_URL, RATES_MAX_AGE_S                     source of exchange rates, and their validity (demo rates in a sandbox; 3600)
  RATES_URL_FILE                                 file with this URL, read at the start
  EVENTS_KEPT_DAYS                               days after which events are deleted (30)
  PAYMENTS_KEPT_DAYS                             days for which personal data of payments are kept by law (3650)
  RECIPIENTS_KEPT_DAYS                           days after which unused recipients become pseudonyms (3650)
  PAYERS_KEPT_DAYS                               days after which payers of deposits become pseudonyms (3650)
  AUDIT_KEPT_DAYS                                how long the audit trail is kept, in days (3650)
  WEBHOOK_KEY, WEBHOOK_KEY_FILE                  keys that encrypt secrets of webhooks (a sandbox: a file of DATA_DIR), or their file
  DECISION_URL                                   address of the hook that decides payouts before they are submitted (none)
  DECISION_SECRET, DECISION_SECRET_FILE          secret that signs its questions, or a file with it
  HOST                                           host of the service; beyond loopback, none receives webhooks on loopback (127.0.0.1)
  WEBHOOK_ALLOWED_NETWORKS                       private networks that may receive webhooks (none)
  WEBHOOK_REFUSED_NETWORKS                       networks that receive no webhooks (none)
  HEALTH_PORT, HEALTH_HOST                       address of GET /health/live and /health/ready (no server; 127.0.0.1)
  METRICS_PORT, METRICS_HOST, BUILD_COMMIT       address of GET /metrics (no server; 127.0.0.1), and a commit to name there
  OTEL_EXPORTER_OTLP_ENDPOINT                    address of a collector of traces (no traces)
  OTEL_EXPORTER_OTLP_PROTOCOL                    http/json
  OTEL_EXPORTER_OTLP_HEADERS                     headers for the collector
  OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG   which traces are recorded (parentbased_always_on)
  OTEL_SDK_DISABLED                              true: no traces
  TRACE_CALLERS_PER_SECOND                       validated, but not used by the worker
  LOG_LEVEL, LOG_FORMAT                          level and format of the log (info; json, or pretty on a terminal)

Exit codes: 0 stopped by a signal; 1 failed; 2 wrong usage or configuration.
`;
