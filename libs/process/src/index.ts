/** Shared by api, worker and cli: configuration, command line, signals, exit codes, the log, a cache, a round-robin queue, a bounded fetch and a server for operators. */

export { boundedFetch, ResponseTooLargeError } from './bounded-fetch.js';
export { connectionTo, hostsOf } from './database-url.js';
export { type CellConfig, HOME_CELL } from './cells-config.js';
export { ConfigError, type Environment, type EnvironmentReader, readerOf } from './environment-reader.js';
export { createPrivateFile, makeDataDir } from './data-dir.js';
export { type DeploymentConfig, readDeployment } from './deployment-config.js';
export { ExpiringCache } from './expiring-cache.js';
export { FairSlots } from './fair-slots.js';
export { createLogger, type LogConfig, loggerOptions, readLogging } from './logger.js';
export { readIssuer } from './issuer.js';
export { type MetricsConfig, readMetrics } from './metrics-config.js';
export { type OperatorResponse, type OperatorServer, serveOperators, type ServerAddress } from './operator-server.js';
export { RoundRobin } from './round-robin.js';
export { readSecretDocument, SecretFileError } from './secret-file.js';
export { readAuditKeptDays } from './audit-config.js';
export { readRates, type RatesConfig } from './rates-config.js';
export { readTracing, type TracingConfig } from './tracing-config.js';
export { EXIT, runService, type RunningService } from './run-service.js';
export { readWebhooks, type WebhooksConfig } from './webhooks-config.js';
export { isLoopback, isTrustworthy } from './trustworthy-url.js';
