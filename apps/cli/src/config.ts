import {
  ConfigError,
  type DeploymentConfig,
  type Environment,
  readDeployment,
  readerOf,
  readIssuer,
} from '@banking/process';

/** Where the deployment is that a command works on, and what its tokens must say. */
export interface Config {
  readonly deployment: DeploymentConfig;
  /** The identity provider. Without it tokens are signed with the key of `dataDir`. */
  readonly issuer?: string | undefined;
  readonly audience: string;
}

/**
 * Reads the environment, which nothing else in `banking` does. An empty variable counts as unset.
 * The variables mean what they mean to the service; those of its HTTP side are not looked at.
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
