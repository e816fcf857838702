import { resolve } from 'node:path';
import { isLoopback, isTrustworthy } from './trustworthy-url.js';
import { readUpstream, type UpstreamConfig } from './upstream/read-upstream.js';

/** Everything that can be set, typed. Units are last in the names. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** Without it the embedded server answers. */
  readonly databaseUrl?: string | undefined;
  readonly databaseOwnerUrl?: string | undefined;
  readonly databasePoolSize: number;
  readonly databaseNamedStatements: boolean;
  readonly demoData: boolean;
  readonly tokens: TokenConfig;
  readonly logLevel: string;
  readonly logPretty: boolean;
  readonly docs: boolean;
  /** Whether operations exist that make up money to try with. */
  readonly sandbox: boolean;
  readonly quotes: QuoteConfig;
  /** Whether this process also does what is due: payouts, and what else waits in the queue. */
  readonly worker: boolean;
  /** Another deployment that answers instead of our own books; then there is no database. */
  readonly upstream?: UpstreamConfig | undefined;
  readonly corsOrigins: readonly string[];
  /** Requests per second for one user in one workspace; no limit without it. */
  readonly rateLimit?: { readonly perSecond: number } | undefined;
  /** Orders per minute of one workspace; no limit without it. */
  readonly orderLimit?: { readonly perMinute: number } | undefined;
}

/** How payments are priced. */
interface QuoteConfig {
  /** How long a price holds. */
  readonly validS: number;
  /** Where rates come from; left out where there is no source. */
  readonly rates?: { readonly url: string; readonly maxAgeS: number } | undefined;
}

/** Where bearer tokens come from and what they must say. */
export interface TokenConfig {
  /** The `aud` a token must carry. */
  readonly audience: string;
  /** The `typ` a token must carry: `at+jwt` (RFC 9068), or `JWT` for providers that do not say. */
  readonly type: string;
  readonly source:
    | { readonly kind: 'local' }
    | { readonly kind: 'discovery'; readonly issuer: string }
    | { readonly kind: 'jwks-url'; readonly issuer: string; readonly url: string }
    | { readonly kind: 'jwks-file'; readonly issuer: string; readonly file: string };
}

/** Every mistake in the environment at once, each with what to change. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly mistakes: readonly string[]) {
    super(`The configuration has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`); // prettier-ignore
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/**
 * Reads the environment, which nothing else in the service does. An empty variable counts as unset.
 *
 * @throws ConfigError
 */
export function readConfig(environment: Environment = process.env, isTerminal = process.stdout.isTTY === true): Config {
  const mistakes: string[] = [];
  const text = (name: string) => environment[name]?.trim() || undefined;
  const oneOf = (name: string, allowed: readonly string[], fallback: string) => {
    const value = text(name) ?? fallback;
    if (allowed.includes(value)) return value;
    mistakes.push(`${name} is "${value}". Set one of: ${allowed.join(', ')}.`);
    return fallback;
  };
  const flag = (name: string, fallback: boolean) => oneOf(name, ['on', 'off'], fallback ? 'on' : 'off') === 'on';
  const whole = (name: string, min: number, max: number) => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (/^[0-9]{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value);
    mistakes.push(`${name} is "${value}". Set a whole number from ${min} to ${max}.`);
    return undefined;
  };
  const url = (name: string, protocols: readonly string[]) => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
    mistakes.push(
      `${name} is not a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}.`,
    );
    return undefined;
  };

  const host = text('HOST') ?? '127.0.0.1';
  const databaseUrl = url('DATABASE_URL', ['postgres:', 'postgresql:']);
  const databaseOwnerUrl = url('DATABASE_OWNER_URL', ['postgres:', 'postgresql:']);
  if (databaseOwnerUrl !== undefined && text('DATABASE_URL') === undefined) {
    mistakes.push('DATABASE_OWNER_URL is set without DATABASE_URL. Set both, or neither for the embedded database.');
  }
  const rate = whole('RATE_LIMIT_PER_SECOND', 1, 1_000_000);
  const orders = whole('ORDER_LIMIT_PER_MINUTE', 1, 1_000_000);
  const corsOrigins = (text('CORS_ORIGINS') ?? '').split(',').map((origin) => origin.trim()).filter(Boolean); // prettier-ignore
  for (const origin of corsOrigins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      mistakes.push(`CORS_ORIGINS holds "${origin}". Write origins like https://app.example, separated by commas.`);
    }
  }
  const port = whole('PORT', 0, 65_535) ?? 3000;
  // Our own books, with a database that lies here.
  const isAtHome = databaseUrl === undefined && text('UPSTREAM_URL') === undefined;
  const config: Config = {
    host,
    port,
    dataDir: resolve(text('DATA_DIR') ?? '.data'),
    databaseUrl,
    databaseOwnerUrl,
    databasePoolSize: whole('DATABASE_POOL_SIZE', 2, 100) ?? 8,
    databaseNamedStatements: flag('DATABASE_NAMED_STATEMENTS', true),
    demoData: flag('DEMO_DATA', isAtHome),
    tokens: readTokens({ text, url, flag, oneOf, host, mistakes }),
    logLevel: oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    logPretty: oneOf('LOG_FORMAT', ['json', 'pretty'], isTerminal ? 'pretty' : 'json') === 'pretty',
    docs: flag('DOCS', true),
    sandbox: flag('SANDBOX', text('OIDC_ISSUER') === undefined),
    quotes: readQuotes({ whole, url, mistakes }),
    worker: flag('WORKER', isAtHome),
    upstream: readUpstream({ text, whole, host, port, mistakes }),
    corsOrigins,
    rateLimit: rate === undefined ? undefined : { perSecond: rate },
    orderLimit: orders === undefined ? undefined : { perMinute: orders },
  };
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}

interface Reading {
  readonly host: string;
  readonly mistakes: string[];
  whole(name: string, min: number, max: number): number | undefined;
  text(name: string): string | undefined;
  url(name: string, protocols: readonly string[]): string | undefined;
  flag(name: string, fallback: boolean): boolean;
  oneOf(name: string, allowed: readonly string[], fallback: string): string;
}

function readQuotes({ whole, url, mistakes }: Pick<Reading, 'whole' | 'url' | 'mistakes'>): QuoteConfig {
  const ratesUrl = url('RATES_URL', ['https:', 'http:']);
  if (ratesUrl !== undefined && !isTrustworthy(ratesUrl)) {
    mistakes.push(
      'RATES_URL must begin with https:// (http only on a loopback address): whoever is on the way could change the rates.',
    );
  }
  const maxAgeS = whole('RATES_MAX_AGE_S', 1, 604_800) ?? 3_600;
  const validS = whole('QUOTE_VALID_S', 1, 86_400) ?? 300;
  return { validS, rates: ratesUrl === undefined ? undefined : { url: ratesUrl, maxAgeS } };
}

function readTokens({ text, url, flag, oneOf, host, mistakes }: Omit<Reading, 'whole'>): TokenConfig {
  const audience = text('OIDC_AUDIENCE') ?? 'banking-api';
  const type = oneOf('OIDC_TOKEN_TYPE', ['at+jwt', 'JWT'], 'at+jwt');
  const issuer = text('OIDC_ISSUER');
  if (issuer !== undefined && !isTrustworthy(issuer)) {
    mistakes.push('OIDC_ISSUER must be the https URL of the identity provider (http only on a loopback address).');
  }
  const jwksUrl = url('JWKS_URL', ['https:', 'http:']);
  if (jwksUrl !== undefined && !isTrustworthy(jwksUrl)) {
    mistakes.push(
      'JWKS_URL must begin with https:// (http only on a loopback address): whoever is on the way could change the keys.',
    );
  }
  const jwksFile = text('JWKS_FILE');
  if (jwksUrl !== undefined && jwksFile !== undefined) mistakes.push('JWKS_URL and JWKS_FILE are both set. Keep one.');
  if ((jwksUrl ?? jwksFile) !== undefined && issuer === undefined) {
    mistakes.push('JWKS_URL and JWKS_FILE need OIDC_ISSUER: the issuer whose tokens the keys prove.');
  }
  const localTokens = text('LOCAL_TOKENS');
  const localAllowed = flag('LOCAL_TOKENS', false);
  if (issuer === undefined) {
    if (localTokens === 'off') {
      mistakes.push('LOCAL_TOKENS is off and there is no OIDC_ISSUER, so nobody could sign in. Set OIDC_ISSUER.');
    } else if (!localAllowed && !isLoopback(host)) {
      mistakes.push(
        `HOST is ${host} and there is no OIDC_ISSUER. Set OIDC_ISSUER to your identity provider; ` +
          'or set LOCAL_TOKENS=on to accept tokens that the key in DATA_DIR has signed, from everywhere.',
      );
    }
    return { audience, type: 'at+jwt', source: { kind: 'local' } };
  }
  if (localAllowed) mistakes.push('LOCAL_TOKENS=on and OIDC_ISSUER exclude each other. Keep one.');
  if (jwksUrl !== undefined) return { audience, type, source: { kind: 'jwks-url', issuer, url: jwksUrl } };
  if (jwksFile !== undefined) return { audience, type, source: { kind: 'jwks-file', issuer, file: resolve(jwksFile) } };
  return { audience, type, source: { kind: 'discovery', issuer } };
}
