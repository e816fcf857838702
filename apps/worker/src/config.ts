import {
  ConfigError,
  type DeploymentConfig,
  type Environment,
  type RatesConfig,
  readDeployment,
  readerOf,
  readRates,
} from '@banking/process';

/** Where the deployment is whose work is done, and how. */
export interface Config {
  readonly deployment: DeploymentConfig;
  /** Where rates come from; left out where there is no source. */
  readonly rates?: RatesConfig | undefined;
  /** Where health is served; left out where it is not. */
  readonly health?: { readonly host: string; readonly port: number } | undefined;
}

/**
 * Reads the environment, which nothing else in the worker does. An empty variable counts as unset. The variables mean what they
 * mean to the service, so that both can be given the same.
 *
 * @throws ConfigError
 */
export function readConfig(environment: Environment = process.env): Config {
  const reader = readerOf(environment);
  const { text, whole, mistakes } = reader;
  const healthPort = whole('HEALTH_PORT', 0, 65_535);
  const config: Config = {
    deployment: readDeployment(reader),
    rates: readRates(reader),
    health: healthPort === undefined ? undefined : { host: text('HEALTH_HOST') ?? '127.0.0.1', port: healthPort },
  };
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}
