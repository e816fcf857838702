import type { EnvironmentReader } from './environment-reader.js';
import { isTrustworthy } from './trustworthy-url.js';

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
  if (endpoint === undefined || text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const traces = url('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', ['https:', 'http:']);
  const [named, address] =
    traces === undefined ? ['OTEL_EXPORTER_OTLP_ENDPOINT', endpoint] : ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', traces];
  for (const headers of ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS']) {
    if (text(headers) === undefined || isTrustworthy(address)) continue;
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
