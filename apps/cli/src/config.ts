import {
  ConfigError,
  type DeploymentConfig,
  type Environment,
  readDeployment,
  readerOf,
  readIssuer,
} from '@banking/process';

/** The deployment that a command works on, and the settings of its tokens. */
export interface Config {
  readonly deployment: DeploymentConfig;
  /** The identity provider. Without it tokens are signed with the key of `dataDir`. */
  readonly issuer?: string | undefined;
  readonly audience: string;
}

/**
 * Reads the environment. An empty variable counts as unset. The variables have the same meaning as for the service.
 * Those of the HTTP interface are ignored.
 *
 * @throws ConfigError
 */
export function readConfig(environment: Environment = process.env): Config {
  const reader = readerOf(environment);
  const config: Config = {
    deployment: readDeployment(reader),
    issuer: readIssuer(reader),
    audience: reader.text('OIDC_AUDIENCE') ?? 'banking-api',
  };
  if (reader.mistakes.length > 0) throw new ConfigError(reader.mistakes);
  return config;
}
