import {
  ConfigError,
  DEFAULT_AUDIENCE,
  type DeploymentConfig,
  type Environment,
  type EnvironmentReader,
  HOME_CELL,
  readDeployment,
  readerOf,
  readIssuers,
} from '@banking/process';

export interface Config {
  readonly deployment: DeploymentConfig;
  /** The cell that a command about books works on, where there are several databases. Default: home. */
  readonly cell?: string | undefined;
  /** The identity providers. Without one, tokens are signed with the key of `dataDir`. */
  readonly issuers: readonly string[];
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
  const deployment = readDeployment(reader);
  const config: Config = {
    deployment,
    cell: readCell(reader, deployment),
    issuers: readIssuers(reader).map(({ issuer }) => issuer),
    audience: reader.text('OIDC_AUDIENCE') ?? DEFAULT_AUDIENCE,
  };
  if (reader.mistakes.length > 0) throw new ConfigError(reader.mistakes);
  return config;
}

/** The environment of a program that this one starts: the settings, and of the present one only where programs and files are. */
export function ownEnvironment(settings: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { PATH, HOME, TMPDIR } = process.env;
  const machine = Object.entries({ PATH, HOME, TMPDIR }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return { ...Object.fromEntries(machine), ...settings };
}

function readCell({ text, mistakes }: EnvironmentReader, { cells }: DeploymentConfig): string | undefined {
  const cell = text('CELL');
  if (cell === undefined) return undefined;
  if (cells === undefined) mistakes.push('CELL is set without CELLS_FILE or CELLS. Set one of them, or remove CELL.');
  else if (cell !== HOME_CELL && !cells.some(({ name }) => name === cell)) {
    mistakes.push(`CELL is "${cell}". Set one of: ${[HOME_CELL, ...cells.map(({ name }) => name)].join(', ')}.`);
  }
  return cell;
}
