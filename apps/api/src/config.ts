import type { BlockList } from 'node:net';
import { resolve } from 'node:path';
import {
  ConfigError,
  type DeploymentConfig,
  type Environment,
  type EnvironmentReader,
  isLoopback,
  isTrustworthy,
  type MetricsConfig,
  type RatesConfig,
  readAuditKeptDays,
  readDeployment,
  readerOf,
  readIssuer,
  readLogging,
  readMetrics,
  readRates,
  readTracing,
  readWebhooks,
  type TracingConfig,
  type WebhooksConfig,
} from '@banking/process';
import { readBinding } from './access/role-lookup.js';
import { readUpstream, type UpstreamConfig } from './gateway/upstream-config.js';
import { LIMITS } from './http/limits.js';
import { readPublicUrl, readTrustedProxies } from './http/addresses.js';

/** The limits of callers. A limit that is undefined is off. */
abstract class LimitConfig {
  /** Requests per second of one user in one workspace. */
  abstract readonly rateLimit?: { readonly perSecond: number } | undefined;
  /** Attempts per minute of one workspace to place an order. */
  abstract readonly orderLimit?: { readonly perMinute: number } | undefined;
  /** Quotes of one workspace that are neither used nor expired. */
  abstract readonly openQuotesMax?: number | undefined;
  abstract readonly connectionsPerAddress: number;
}

const LIMIT_MAX = 1_000_000;

function readLimits({ text, whole, mistakes }: EnvironmentReader, sandbox: boolean): LimitConfig {
  const limit = (name: string, usual: number): number | undefined => {
    const value = text(name);
    if (value === undefined) return sandbox ? undefined : usual;
    if (value === '0' || value === 'off') return undefined;
    if (/^[0-9]{1,7}$/.test(value) && Number(value) <= LIMIT_MAX) return Number(value);
    mistakes.push(`${name} is "${value}". Set a whole number from 1 to ${LIMIT_MAX}, or off for no limit.`);
    return undefined;
  };
  const perSecond = limit('RATE_LIMIT_PER_SECOND', 50);
  const perMinute = limit('ORDER_LIMIT_PER_MINUTE', 60);
  return {
    rateLimit: perSecond === undefined ? undefined : { perSecond },
    orderLimit: perMinute === undefined ? undefined : { perMinute },
    openQuotesMax: limit('OPEN_QUOTES_PER_WORKSPACE', 100),
    connectionsPerAddress: whole('CONNECTIONS_PER_ADDRESS', 1, LIMITS.connections) ?? LIMITS.connections / 4,
  };
}

/** The configuration of the service, and the token under which Nest injects it. Names end with their unit. */
export abstract class ApiConfig extends LimitConfig {
  abstract readonly host: string;
  abstract readonly port: number;
  /** The address under which callers reach the service, if it differs from the one it listens on. */
  abstract readonly publicUrl?: string | undefined;
  abstract readonly trustedProxies: BlockList;
  /** The database of our own books. A gateway uses `dataDir` alone, for the key that signs local tokens. */
  abstract readonly deployment: DeploymentConfig;
  abstract readonly tokens: TokenConfig;
  abstract readonly bindsByEmail: boolean;
  abstract readonly logLevel: string;
  abstract readonly logPretty: boolean;
  abstract readonly docs: boolean;
  abstract readonly triesOut: boolean;
  /** Whether the operations under `/sandbox` exist. */
  abstract readonly sandbox: boolean;
  abstract readonly quotes: QuoteConfig;
  /** Whether this process also does due work, such as payouts. */
  abstract readonly worker: boolean;
  /** How long that work keeps entries of the audit trail, in days. */
  abstract readonly auditKeptDays: number;
  /** The keys that encrypt the secrets of webhook endpoints, and the private networks that endpoints may be in. */
  abstract readonly webhooks: WebhooksConfig;
  abstract readonly upstream?: UpstreamConfig | undefined;
  abstract readonly corsOrigins: readonly string[];
  /** The listener of the metrics. Undefined: no metrics are collected. */
  abstract readonly metrics?: MetricsConfig | undefined;
  abstract readonly tracing?: TracingConfig | undefined;
}

interface QuoteConfig {
  readonly validS: number;
  readonly rates?: RatesConfig | undefined;
}

/** The issuer of bearer tokens, and the claims they must have. */
export interface TokenConfig {
  /** The `aud` a token must carry. */
  readonly audience: string;
  /** The `typ` a token must carry: `at+jwt` (RFC 9068), or `JWT` for providers that do not set it. */
  readonly type: string;
  readonly source:
    | { readonly kind: 'local' }
    | { readonly kind: 'discovery'; readonly issuer: string }
    | { readonly kind: 'jwks-url'; readonly issuer: string; readonly url: string }
    | { readonly kind: 'jwks-file'; readonly issuer: string; readonly file: string };
}

/**
 * Reads the environment. Nothing else in the service reads it. An empty variable counts as unset.
 *
 * @throws ConfigError
 */
export function readConfig(
  environment: Environment = process.env,
  isTerminal = process.stdout.isTTY === true,
): ApiConfig {
  const reader = readerOf(environment);
  const { text, given, flag, whole, mistakes } = reader;

  const host = text('HOST') ?? '127.0.0.1';
  const isGateway = text('UPSTREAM_URL') !== undefined;
  const deployment = readDeployment(reader, { isGateway });
  const port = whole('PORT', 0, 65_535) ?? 3000;
  const config: ApiConfig = {
    host,
    port,
    publicUrl: readPublicUrl(reader),
    trustedProxies: readTrustedProxies(reader),
    deployment,
    tokens: readTokens(reader, { host, isSandbox: deployment.isSandbox }),
    bindsByEmail: readBinding(reader, deployment.isSandbox),
    ...readLogging(reader, isTerminal),
    docs: flag('DOCS', true),
    triesOut: flag('DOCS_TRY_IT_OUT', deployment.isSandbox),
    sandbox: deployment.isSandbox,
    quotes: readQuotes(reader),
    worker: flag('WORKER', !isGateway && given('DATABASE_URL') === undefined),
    auditKeptDays: readAuditKeptDays(reader),
    webhooks: readWebhooks(reader),
    upstream: readUpstream(reader, { host, port }),
    corsOrigins: readCorsOrigins(reader),
    metrics: readMetrics(reader),
    tracing: readTracing(reader, isGateway ? 'banking-gateway' : 'banking-api'),
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
  const listed = (text('CORS_ORIGINS') ?? '').split(',');
  const origins = listed.map((origin) => origin.trim()).filter(Boolean);
  for (const origin of origins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      mistakes.push(`CORS_ORIGINS contains "${origin}". Write origins like https://app.example, separated by commas.`);
    } else if (!isTrustworthy(origin)) {
      mistakes.push(`CORS_ORIGINS contains "${origin}". Use https: http is accepted for a loopback address only.`);
    }
  }
  return origins;
}

/** Local tokens are for a sandbox, and by default for callers on this machine. */
interface TokenUse {
  readonly host: string;
  readonly isSandbox: boolean;
}

function readTokens(reader: EnvironmentReader, { host, isSandbox }: TokenUse): TokenConfig {
  const { text, url, flag, oneOf, mistakes } = reader;
  const audience = text('OIDC_AUDIENCE') ?? 'banking-api';
  const type = oneOf('OIDC_TOKEN_TYPE', ['at+jwt', 'JWT'], 'at+jwt');
  const issuer = readIssuer(reader);
  const jwksUrl = url('JWKS_URL', ['https:', 'http:']);
  if (jwksUrl !== undefined && !isTrustworthy(jwksUrl)) {
    mistakes.push(
      'JWKS_URL must begin with https:// (http only on a loopback address), because http does not protect the keys in transit.',
    );
  }
  const jwksFile = text('JWKS_FILE');
  if (jwksUrl !== undefined && jwksFile !== undefined) mistakes.push('JWKS_URL and JWKS_FILE are both set. Keep one.');
  if ((jwksUrl ?? jwksFile) !== undefined && issuer === undefined) {
    mistakes.push('JWKS_URL and JWKS_FILE need OIDC_ISSUER, the issuer of the tokens. Set it.');
  }
  const localTokens = text('LOCAL_TOKENS');
  const localAllowed = flag('LOCAL_TOKENS', false);
  if (issuer === undefined) {
    if (!isSandbox) {
      mistakes.push(
        'SANDBOX is off and OIDC_ISSUER is not set. A live deployment accepts only tokens of an identity provider. ' +
          'Set OIDC_ISSUER, or set SANDBOX=on for demo money.',
      );
    } else if (localTokens === 'off') {
      mistakes.push('LOCAL_TOKENS is off and OIDC_ISSUER is not set, so no token would be accepted. Set OIDC_ISSUER.');
    } else if (!localAllowed && !isLoopback(host)) {
      mistakes.push(
        `HOST is ${host} and OIDC_ISSUER is not set. Set OIDC_ISSUER to your identity provider, ` +
          'or set LOCAL_TOKENS=on to accept tokens signed by the key in DATA_DIR from every address.',
      );
    }
    return { audience, type: 'at+jwt', source: { kind: 'local' } };
  }
  if (localAllowed) mistakes.push('LOCAL_TOKENS=on and OIDC_ISSUER exclude each other. Keep one.');
  if (jwksUrl !== undefined) return { audience, type, source: { kind: 'jwks-url', issuer, url: jwksUrl } };
  if (jwksFile !== undefined) return { audience, type, source: { kind: 'jwks-file', issuer, file: resolve(jwksFile) } };
  return { audience, type, source: { kind: 'discovery', issuer } };
}
