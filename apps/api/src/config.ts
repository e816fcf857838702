import type { BlockList } from 'node:net';
import {
  ConfigError,
  type DecisionsConfig,
  type DeploymentConfig,
  type Environment,
  type EnvironmentReader,
  isTrustworthy,
  type MetricsConfig,
  type RatesConfig,
  readAuditKeptDays,
  readDecisions,
  readDeployment,
  readerOf,
  readLogging,
  readMetrics,
  readRates,
  readTracing,
  readWebhooks,
  type TracingConfig,
  type WebhooksConfig,
} from '@banking/process';
import { readStepUps, type StepUps } from './access/step-up.js';
import { readTokens, type TokenConfig } from './access/token-config.js';
import { readUpstream, type UpstreamConfig } from './gateway/upstream-config.js';
import { LIMITS } from './http/limits.js';
import { readPublicUrl } from './http/public-url.js';
import { readTrustedProxies } from './http/request-head.js';

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
  /** The issuers of bearer tokens, one or several. */
  abstract readonly tokens: readonly TokenConfig[];
  /** Whether a token must have scopes. Otherwise one without scopes of this service allows everything. */
  abstract readonly requiresScopes: boolean;
  abstract readonly stepUps: StepUps;
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
  /** The hook that decides payouts before they are submitted. */
  abstract readonly decisions?: DecisionsConfig | undefined;
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
    requiresScopes: reader.oneOf('OIDC_SCOPES', ['optional', 'required'], 'optional') === 'required',
    stepUps: readStepUps(reader),
    ...readLogging(reader, isTerminal),
    docs: flag('DOCS', true),
    triesOut: flag('DOCS_TRY_IT_OUT', deployment.isSandbox),
    sandbox: deployment.isSandbox,
    quotes: readQuotes(reader),
    worker: flag('WORKER', !isGateway && given('DATABASE_URL') === undefined),
    auditKeptDays: readAuditKeptDays(reader),
    webhooks: readWebhooks(reader),
    decisions: readDecisions(reader),
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
