import { isIP } from 'node:net';
import { resolve } from 'node:path';

/** Where the deployment is whose work is done, and how. */
export interface Config {
  readonly dataDir: string;
  /** Without it the embedded server of `dataDir` answers. */
  readonly databaseUrl?: string | undefined;
  readonly databasePoolSize: number;
  /** Off for PgBouncer before 1.21 in transaction mode. */
  readonly databaseNamedStatements: boolean;
  /** Whether payouts go to the sandbox's network, which moves no money. */
  readonly sandbox: boolean;
  /** Where rates come from; left out where there is no source. */
  readonly rates?: { readonly url: string; readonly maxAgeS: number } | undefined;
  /** Where health is served; left out where it is not. */
  readonly health?: { readonly host: string; readonly port: number } | undefined;
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
 * Reads the environment, which nothing else in the worker does. An empty variable counts as unset. The variables mean what they
 * mean to the service, so that both can be given the same.
 *
 * @throws ConfigError
 */
export function readConfig(environment: Environment = process.env): Config {
  const mistakes: string[] = [];
  const text = (name: string) => environment[name]?.trim() || undefined;
  const flag = (name: string, fallback: boolean) => {
    const value = text(name) ?? (fallback ? 'on' : 'off');
    if (value !== 'on' && value !== 'off') mistakes.push(`${name} is "${value}". Set one of: on, off.`);
    return value === 'on';
  };
  const whole = (name: string, fallback: number, min: number, max: number) => {
    const value = text(name) ?? `${fallback}`;
    if (/^[0-9]{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value);
    mistakes.push(`${name} is "${value}". Set a whole number from ${min} to ${max}.`);
    return fallback;
  };

  const databaseUrl = text('DATABASE_URL');
  if (databaseUrl !== undefined && !isPostgresUrl(databaseUrl)) {
    mistakes.push('DATABASE_URL is not a URL that begins with postgres:// or postgresql://.');
  }
  const ratesUrl = text('RATES_URL');
  if (ratesUrl !== undefined && !isTrustworthy(ratesUrl)) {
    mistakes.push(
      'RATES_URL must begin with https:// (http only on a loopback address): whoever is on the way could change the rates.',
    );
  }
  const maxAgeS = whole('RATES_MAX_AGE_S', 3_600, 1, 604_800);
  const host = text('HEALTH_HOST') ?? '127.0.0.1';
  const health = text('HEALTH_PORT') === undefined ? undefined : { host, port: whole('HEALTH_PORT', 0, 0, 65_535) };
  const config: Config = {
    dataDir: resolve(text('DATA_DIR') ?? '.data'),
    databaseUrl,
    databasePoolSize: whole('DATABASE_POOL_SIZE', 8, 2, 100),
    databaseNamedStatements: flag('DATABASE_NAMED_STATEMENTS', true),
    sandbox: flag('SANDBOX', text('OIDC_ISSUER') === undefined),
    rates: ratesUrl === undefined ? undefined : { url: ratesUrl, maxAgeS },
    health,
  };
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}

function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol);
}

/** Nobody on the way can change what comes from there. */
function isTrustworthy(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.')); // prettier-ignore
  return protocol === 'https:' || (protocol === 'http:' && isLoopback);
}
