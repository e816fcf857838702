/** Shared by api, worker and cli: configuration, command line, signals, exit codes, the log, a cache, a round-robin queue, a bounded fetch, repeated members of JSON and a server for operators. */

export { boundedFetch, fetchFailure } from './bounded-fetch.js';
export { connectionTo, hostsOf } from './database-url.js';
export { type CellConfig, HOME_CELL, type DeploymentConfig, readDeployment } from './deployment-config.js';
export { ConfigError, type Environment, type EnvironmentReader, readerOf } from './environment-reader.js';
export { DEFAULT_AUDIENCE, type IssuerConfig, readIssuers } from './issuers-config.js';
export { createPrivateFile, makeDataDir, makeFolders } from './data-dir.js';
export { ExpiringCache } from './expiring-cache.js';
export { hasRepeatedMember } from './repeated-member.js';
export { FairSlots, type InTurn, RoundRobin } from './round-robin.js';
export { parseNetwork } from './network.js';
export { createLogger, type LogConfig, loggerOptions, readLogging } from './logger.js';
export {
  type MetricsConfig,
  readMetrics,
  readAuditKeptDays,
  readRates,
  type RatesConfig,
  readTracing,
  type TracingConfig,
} from './telemetry-config.js';
export {
  type OperatorResponse,
  type OperatorServer,
  serveOperators,
  type ServerAddress,
  EXIT,
  runService,
  type RunningService,
} from './run-service.js';
export { readDocument, readSecretFile, SecretFileError } from './secret-file.js';
export { readWebhooks, type WebhooksConfig } from './webhooks-config.js';
export { type DecisionsConfig, readDecisions } from './decisions-config.js';
export { isLoopback, isTrustworthy } from './password-file.js';
export { readYamlDocument, type ReportMistake, writeYamlDocument } from './yaml-document.js';
