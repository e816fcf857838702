import { resolve } from 'node:path';
import {
  ConfigError,
  type DeploymentConfig,
  type Environment,
  type EnvironmentReader,
  isLoopback,
  isTrustworthy,
  type RatesConfig,
  readDeployment,
  readerOf,
  readIssuer,
  readRates,
} from '@banking/process';
import { readBinding } from './access/read-binding.js';
import { readPublicUrl } from './http/public-url.js';
import { type LimitConfig, readLimits } from './read-limits.js';
import { readUpstream, type UpstreamConfig } from './upstream/read-upstream.js';

/** Everything that can be set, typed. Units are last in the names. */
export interface Config extends LimitConfig {
  readonly host: string;
  readonly port: number;
  /** Under which address callers reach the service, where that is not the one it listens on. */
  readonly publicUrl?: string | undefined;
  /** Where our own books are. A gateway uses `dataDir` alone, for the key that signs local tokens. */
  readonly deployment: DeploymentConfig;
  readonly tokens: TokenConfig;
  /** Whether a verified e-mail binds a subject to its user. */
  readonly bindsByEmail: boolean;
  readonly logLevel: string;
  readonly logPretty: boolean;
  readonly docs: boolean;
  /** Whether the operations under `/sandbox` exist. */
  readonly sandbox: boolean;
  readonly quotes: QuoteConfig;
  /** Whether this process also does what is due: payouts, and what else waits in the queue. */
  readonly worker: boolean;
  /** Another deployment that answers instead of our own books; then there is no database. */
  readonly upstream?: UpstreamConfig | undefined;
  readonly corsOrigins: readonly string[];
}

/** How payments are priced. */
interface QuoteConfig {
  /** How long a price holds. */
  readonly validS: number;
  /** Where rates come from; left out where there is no source. */
  readonly rates?: RatesConfig | undefined;
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

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/**
 * Reads the environment, which nothing else in the service does. An empty variable counts as unset.
 *
 * @throws ConfigError
 */
export function readConfig(environment: Environment = process.env, isTerminal = process.stdout.isTTY === true): Config {
  const reader = readerOf(environment);
  const { text, oneOf, flag, whole, mistakes } = reader;

  const host = text('HOST') ?? '127.0.0.1';
  const isGateway = text('UPSTREAM_URL') !== undefined;
  const deployment = readDeployment(reader, { isGateway });
  const port = whole('PORT', 0, 65_535) ?? 3000;
  const config: Config = {
    host,
    port,
    publicUrl: readPublicUrl(reader),
    deployment,
    tokens: readTokens(reader, host),
    bindsByEmail: readBinding(reader),
    logLevel: oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    logPretty: oneOf('LOG_FORMAT', ['json', 'pretty'], isTerminal ? 'pretty' : 'json') === 'pretty',
    docs: flag('DOCS', true),
    sandbox: deployment.isSandbox,
    quotes: readQuotes(reader),
    worker: flag('WORKER', !isGateway && text('DATABASE_URL') === undefined),
    upstream: readUpstream(reader, { host, port }),
    corsOrigins: readCorsOrigins(reader),
    ...readLimits(reader, deployment.isSandbox),
  };
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}

function readQuotes(reader: EnvironmentReader): QuoteConfig {
  const rates = readRates(reader);
  return { validS: reader.whole('QUOTE_VALID_S', 1, 86_400) ?? 300, rates };
}

function readCorsOrigins({ text, mistakes }: EnvironmentReader): readonly string[] {
  const origins = (text('CORS_ORIGINS') ?? '').split(',').map((origin) => origin.trim()).filter(Boolean); // prettier-ignore
  for (const origin of origins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      mistakes.push(`CORS_ORIGINS holds "${origin}". Write origins like https://app.example, separated by commas.`);
    } else if (!isTrustworthy(origin)) {
      mistakes.push(`CORS_ORIGINS holds "${origin}". Write it with https: http is taken for a loopback address only.`);
    }
  }
  return origins;
}

function readTokens(reader: EnvironmentReader, host: string): TokenConfig {
  const { text, url, flag, oneOf, mistakes } = reader;
  const audience = text('OIDC_AUDIENCE') ?? 'banking-api';
  const type = oneOf('OIDC_TOKEN_TYPE', ['at+jwt', 'JWT'], 'at+jwt');
  const issuer = readIssuer(reader);
  const jwksUrl = url('JWKS_URL', ['https:', 'http:']);
  if (jwksUrl !== undefined && !isTrustworthy(jwksUrl)) {
    mistakes.push(
      'JWKS_URL must begin with https:// (http only on a loopback address): over http, the keys could be changed on the way.',
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
