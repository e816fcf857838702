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
  readonly validS: number | undefined;
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
  return { validS: reader.whole('QUOTE_VALID_S', 1, 86_400), rates };
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

/** The variables that are read here, for `--help`. */
export const USAGE = `Usage: npm start

Starts the service, and an embedded PostgreSQL unless DATABASE_URL is set. Ctrl-C stops both.

Options:
  -h, --help  print this help

Configuration, by environment; docs/configuration.md explains each:
  HOST, PORT                                               where to listen (127.0.0.1, 3000)
  DATA_DIR                                                 the embedded database and the signing key (.data)
  DATABASE_URL, DATABASE_OWNER_URL                         a PostgreSQL of your own
  DATABASE_PASSWORD_FILE, DATABASE_OWNER_PASSWORD_FILE     files with their passwords, read for each connection
  DATABASE_URL_FILE, DATABASE_OWNER_URL_FILE               files with the URLs, read at the start
  DATABASE_REPLICA_URL                                     a streaming replica of it, for lists and statements
  DATABASE_REPLICA_URL_FILE, DATABASE_REPLICA_PASSWORD_FILE  files with its URL and its password
  CELLS_FILE, CELLS                                        a file that lists further databases; or a number of embedded ones
  DATABASE_POOL_SIZE, DATABASE_POOLER                      connections, and the mode of PgBouncer in front (8, none)
  DATABASE_NAMED_STATEMENTS                                whether statements have names (on without DATABASE_POOLER)
  DATABASE_TLS                                             off: connect to another host without verifying it (on)
  DEMO_DATA                                                on or off: create the demo data, in a sandbox
  REFERENCE_FILE                                           document with the reference data (what the database has)
  OIDC_ISSUER, OIDC_AUDIENCE, OIDC_TOKEN_TYPE              the identity provider and the claims of its tokens
  OIDC_ISSUERS_FILE                                        a file that lists several identity providers instead
  OIDC_SCOPES                                              required: tokens must have scopes (optional)
  STEP_UP                                                  operations that need a recent or stronger sign-in (none)
  OIDC_BIND_BY_EMAIL                                       on or off: bind a subject to the user with its verified e-mail (sandbox: on)
  JWKS_URL, JWKS_FILE                                      its keys, unless discovery finds them
  LOCAL_TOKENS                                             on: accept tokens signed by the local key on any address (off)
  UPSTREAM_URL, UPSTREAM_TIMEOUT_MS                        be a gateway of another deployment, without a database (10000)
  UPSTREAM_TOKEN, UPSTREAM_TOKEN_FILE                      the access token of the gateway, or a file with it
  UPSTREAM_AUTH_URL, UPSTREAM_REFRESH_TOKEN_FILE           or a session: the address that renews it, and a file with its token
  METRICS_PORT, METRICS_HOST, BUILD_COMMIT                 address of GET /metrics (no server; 127.0.0.1), and a commit to name there
  LOG_LEVEL, LOG_FORMAT                                    info; json, or pretty on a terminal
  PUBLIC_URL                                               the address under which callers reach the service
  TRUSTED_PROXIES                                          proxies whose X-Forwarded-For is read for the audit trail (none)
  DOCS, CORS_ORIGINS                                       the docs page (on), and origins that may call (none)
  DOCS_TRY_IT_OUT                                          on or off: the docs page sends requests (sandbox: on)
  RATE_LIMIT_PER_SECOND, ORDER_LIMIT_PER_MINUTE            limits of a user and of a workspace (50, 60; sandbox: off)
  OPEN_QUOTES_PER_WORKSPACE                                quotes neither used nor expired (100; sandbox: off)
  CONNECTIONS_PER_ADDRESS                                  open connections of one address (250)
  SANDBOX                                                  on for demo money, off for real money (on without DATABASE_URL)
  RAILS_FILE                                               a file that lists the payment networks (a sandbox: its own; else none)
  RATES_URL, RATES_MAX_AGE_S                               the source of exchange rates, and their maximum age (3600)
  RATES_URL_FILE                                           a file with this URL, read at the start
  QUOTE_VALID_S                                            how long a quote is valid, in seconds (300)
  EVENTS_KEPT_DAYS                                         days after which events are deleted (30)
  PAYMENTS_KEPT_DAYS                                       days for which personal data of payments are kept by law (3650)
  RECIPIENTS_KEPT_DAYS                                     days after which unused recipients become pseudonyms (3650)
  PAYERS_KEPT_DAYS                                         days after which payers of deposits become pseudonyms (3650)
  WEBHOOK_KEY, WEBHOOK_KEY_FILE                            the keys that encrypt the secrets of webhooks, or a file with them
  WEBHOOK_ALLOWED_NETWORKS                                 private networks that may receive webhooks (none)
  WEBHOOK_REFUSED_NETWORKS                                 networks that receive no webhooks (none)
  DECISION_URL                                             the address of the hook that decides payouts (none)
  DECISION_SECRET, DECISION_SECRET_FILE                    the secret that signs its questions, or a file with it
  WORKER                                                   on or off: do due work, such as payouts, in this process
  AUDIT_KEPT_DAYS                                          how long such work keeps the audit trail, in days (3650)
  OTEL_EXPORTER_OTLP_ENDPOINT                              the address of a collector of traces (no traces)
  OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_HEADERS  http/json, and headers for it
  OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG             which traces are recorded (parentbased_always_on)
  TRACE_CALLERS_PER_SECOND                                 traces that callers may have recorded (10)
  OTEL_SDK_DISABLED                                        true: no traces

Exit codes: 0 stopped; 1 failed; 2 wrong usage or configuration.
`;
