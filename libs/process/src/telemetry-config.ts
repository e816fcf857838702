import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EnvironmentReader } from './environment-reader.js';
import { isTrustworthy } from './password-file.js';

/** The listener of the metrics, and the commit that the process was built of. */
export interface MetricsConfig {
  readonly host: string;
  readonly port: number;
  readonly commit: string | undefined;
}

const COMMIT = /^[A-Za-z0-9._-]{1,64}$/;

/** The manifest of this package. Only that of a release archive names a commit. */
const MANIFEST = join(__dirname, '..', 'package.json');

/**
 * Reads METRICS_PORT, METRICS_HOST and BUILD_COMMIT. Undefined without a port: no metrics are collected.
 *
 * @param manifest names the commit if BUILD_COMMIT is not set, so that no composition and no image has to
 */
export function readMetrics(
  { text, whole, mistakes }: EnvironmentReader,
  manifest = MANIFEST,
): MetricsConfig | undefined {
  const port = whole('METRICS_PORT', 0, 65_535);
  const host = text('METRICS_HOST') ?? '127.0.0.1';
  const commit = text('BUILD_COMMIT');
  if (commit !== undefined && !COMMIT.test(commit)) {
    mistakes.push(
      'BUILD_COMMIT is not the name of a commit. Set 1 to 64 letters, digits, dots, hyphens or underscores.',
    );
  }
  return port === undefined ? undefined : { host, port, commit: commit ?? commitIn(manifest) };
}

const commitIn = (manifest: string): string | undefined =>
  (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly gitHead?: string }).gitHead;

/** The samplers of OTEL_TRACES_SAMPLER. */
const TRACE_SAMPLERS = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;
type TraceSampler = (typeof TRACE_SAMPLERS)[number];

/** Which traces a process records. Where they are sent is read by the exporter itself: OTEL_EXPORTER_OTLP_…. */
export interface TracingConfig {
  /** The name of the process in its traces, unless OTEL_SERVICE_NAME is set. */
  readonly serviceName: string;
  readonly sampler: TraceSampler;
  /** The part of traces that a sampler by ratio takes: 0 to 1. */
  readonly ratio: number;
  /** How many traces a second are recorded because their caller has asked for it. */
  readonly callersPerSecond: number;
}

/** The name is a token of RFC 9110, the value that of W3C Baggage. */
const HEADER = /^\s*[!#$%&'*+.^_`|~\w-]+\s*=\s*(?:[^%,;]|%[0-9A-Fa-f]{2})*$/;

/** The only encoding that the exporter supports. */
const PROTOCOL = 'http/json';

/**
 * Undefined without OTEL_EXPORTER_OTLP_ENDPOINT: the process records no traces then, and reads no other variable of OpenTelemetry.
 *
 * @param serviceName the name of the process in its traces, unless OTEL_SERVICE_NAME is set
 */
export function readTracing(reader: EnvironmentReader, serviceName: string): TracingConfig | undefined {
  const { text, url, oneOf, whole, mistakes } = reader;
  const callersPerSecond = whole('TRACE_CALLERS_PER_SECOND', 0, 1_000) ?? 10;
  const endpoint = url('OTEL_EXPORTER_OTLP_ENDPOINT', ['https:', 'http:']);
  const disabled = (text('OTEL_SDK_DISABLED') ?? 'false').toLowerCase();
  if (!['true', 'false'].includes(disabled))
    mistakes.push('OTEL_SDK_DISABLED is neither true nor false. Set one of them.');
  if (endpoint === undefined || disabled === 'true') return undefined;
  const traces = url('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', ['https:', 'http:']);
  const [named, address] =
    traces === undefined ? ['OTEL_EXPORTER_OTLP_ENDPOINT', endpoint] : ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', traces];
  for (const headers of ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS']) {
    const written = text(headers);
    if (written === undefined) continue;
    // The exporter would leave them out without a word.
    if (!written.split(',').every((entry) => HEADER.test(entry))) {
      mistakes.push(
        `${headers} has an entry that is not name=value. Write name=value, separated by commas, values in percent-encoding.`,
      );
    }
    if (isTrustworthy(address)) continue;
    mistakes.push(
      `${headers} is set, and ${named} begins with http://, which does not protect them. ` +
        'Use https (http only on a loopback address).',
    );
  }
  oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', [PROTOCOL], PROTOCOL);
  oneOf('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', [PROTOCOL], PROTOCOL);
  const sampler = oneOf('OTEL_TRACES_SAMPLER', TRACE_SAMPLERS, 'parentbased_always_on') as TraceSampler;
  return { serviceName, sampler, ratio: readRatio(reader), callersPerSecond };
}

function readRatio({ text, mistakes }: EnvironmentReader): number {
  const value = text('OTEL_TRACES_SAMPLER_ARG');
  if (value === undefined) return 1;
  if (/^(?:0|1|0?\.[0-9]{1,9}|[01]\.[0-9]{1,9})$/.test(value) && Number(value) <= 1) return Number(value);
  mistakes.push(`OTEL_TRACES_SAMPLER_ARG is "${value}". Set a number from 0 to 1, such as 0.01.`);
  return 1;
}

/** How long entries of the audit trail are kept, in days. */
export const readAuditKeptDays = ({ whole }: EnvironmentReader): number =>
  whole('AUDIT_KEPT_DAYS', 365, 36_500) ?? 3_650;

/** The document that exchange rates come from. */
export interface RatesConfig {
  readonly url: string;
  readonly maxAgeS: number;
}

/** Undefined if no source of rates is configured. */
export function readRates({ url, whole, mistakes }: EnvironmentReader): RatesConfig | undefined {
  const ratesUrl = url('RATES_URL', ['https:', 'http:']);
  if (ratesUrl !== undefined && !isTrustworthy(ratesUrl)) {
    mistakes.push(
      'RATES_URL must begin with https:// (http only on a loopback address): over http, rates could be changed on the way.',
    );
  }
  const maxAgeS = whole('RATES_MAX_AGE_S', 1, 604_800) ?? 3_600;
  return ratesUrl === undefined ? undefined : { url: ratesUrl, maxAgeS };
}
