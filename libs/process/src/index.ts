/** What api, worker and cli need to read their configuration, and what they may log of an error. Each app's `config.ts` passes its environment in. */

export { connectionTo } from './database-url.js';
export { ConfigError, type Environment, type EnvironmentReader, readerOf } from './environment-reader.js';
export { type DeploymentConfig, readDeployment } from './deployment-config.js';
export { describeError } from './logged-error.js';
export { readIssuer } from './issuer.js';
export { readRates, type RatesConfig } from './rates-config.js';
export { isLoopback, isTrustworthy } from './trustworthy-url.js';
