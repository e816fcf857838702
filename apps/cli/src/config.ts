import { isIP } from 'node:net';
import { resolve } from 'node:path';

/** Where the deployment is that a command works on, and what its tokens must say. */
export interface Config {
  readonly dataDir: string;
  /** Without it the embedded server of `dataDir` answers. */
  readonly databaseUrl?: string | undefined;
  readonly databaseOwnerUrl?: string | undefined;
  /** Off for PgBouncer before 1.21 in transaction mode. */
  readonly nameStatements: boolean;
  readonly demoData: boolean;
  /** The identity provider. Without it tokens are signed with the key of `dataDir`. */
  readonly issuer?: string | undefined;
  readonly audience: string;
}

/** Every mistake in the environment at once, each with what to change. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly mistakes: readonly string[]) {
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`;
    super(`The configuration has ${count}:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the environment, which nothing else in `banking` does. An empty variable counts as unset.
 * The variables mean what they mean to the service; those of its HTTP side are not looked at.
 *
 * @throws ConfigError
 */
export function readConfig(environment: Environment = process.env): Config {
  const mistakes: string[] = [];
  const text = (name: string) => environment[name]?.trim() || undefined;
  const databaseUrl = (name: string) => {
    const value = text(name);
    if (value === undefined || (URL.canParse(value) && /^postgres(ql)?:$/.test(new URL(value).protocol))) return value;
    mistakes.push(`${name} is not a URL that begins with postgres:// or postgresql://.`);
    return undefined;
  };

  const flag = (name: string, fallback: boolean) => {
    const value = text(name) ?? (fallback ? 'on' : 'off');
    if (value !== 'on' && value !== 'off') mistakes.push(`${name} is "${value}". Set one of: on, off.`);
    return value === 'on';
  };

  const isEmbedded = text('DATABASE_URL') === undefined;
  const issuer = text('OIDC_ISSUER');
  if (isEmbedded && text('DATABASE_OWNER_URL') !== undefined) {
    mistakes.push('DATABASE_OWNER_URL is set without DATABASE_URL. Set both, or neither for the embedded database.');
  }
  if (issuer !== undefined && !isIssuer(issuer)) {
    mistakes.push('OIDC_ISSUER must be the https URL of the identity provider (http only on a loopback address).');
  }
  const config: Config = {
    dataDir: resolve(text('DATA_DIR') ?? '.data'),
    databaseUrl: databaseUrl('DATABASE_URL'),
    databaseOwnerUrl: databaseUrl('DATABASE_OWNER_URL'),
    nameStatements: flag('DATABASE_NAMED_STATEMENTS', true),
    demoData: flag('DEMO_DATA', isEmbedded),
    issuer,
    audience: text('OIDC_AUDIENCE') ?? 'banking-api',
  };
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}

/** An issuer is compared letter by letter, so it is kept as it was written. */
function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}
