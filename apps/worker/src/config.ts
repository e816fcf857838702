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
