import { randomUUID } from 'node:crypto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, RandomIdGenerator } from '@opentelemetry/sdk-trace-base';
import type { TracingConfig } from '@banking/process';
import { followDatabase } from './database-spans.js';
import { followOrders } from './order-spans.js';
import { ReportedExporter } from './reported-exporter.js';
import { followUpstream, RequestSpans } from './request-spans.js';
import { CallerLimitSampler, samplerOf } from './sampler.js';
import { reportSdkWarnings } from './sdk-warnings.js';
import { Spans } from './spans.js';
import type { ReportExport, Tracing } from './tracing.js';
import { followWork } from './work-spans.js';

/**
 * Begins to record traces and to send them. The SDK itself reads where to, how often and with which headers: OTEL_EXPORTER_OTLP_…,
 * OTEL_BSP_…, OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME and OTEL_SPAN_….
 *
 * Nothing is registered globally: the spans are ours alone, and a test opens as many as it needs.
 */
export function openTracing(config: TracingConfig, report: ReportExport): Tracing {
  reportSdkWarnings(report);
  const ids = new RandomIdGenerator();
  const provider = new BasicTracerProvider({
    resource: resourceOf(config.serviceName),
    sampler: new CallerLimitSampler(samplerOf(config), config.callersPerSecond, () => ids.generateTraceId()),
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor(new ReportedExporter(new OTLPTraceExporter(), report))],
  });
  const onFault = (error: unknown) => report({ kind: 'warning', why: error instanceof Error ? error.name : 'a fault' });
  const spans = new Spans(provider.getTracer('@banking/telemetry'), onFault);
  for (const follow of [followDatabase, followOrders, followWork, followUpstream]) follow(spans);
  const requests = new RequestSpans(spans);
  return {
    startRequest: (request) => requests.start(request),
    activeIds() {
      const { traceId, spanId } = spans.active?.spanContext() ?? {};
      return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId };
    },
    headersFor: (requestId) => requests.headersFor(requestId),
    async close(withinMs) {
      spans.unfollow();
      if (!(await isWithin(withinMs, provider.shutdown()))) report({ kind: 'abandoned' });
    },
  };
}

/** The attributes of the process. Those of the environment replace ours. Host and command line are not sent. */
function resourceOf(serviceName: string) {
  const ours = resourceFromAttributes({ 'service.name': serviceName, 'service.instance.id': randomUUID() });
  return defaultResource()
    .merge(ours)
    .merge(detectResources({ detectors: [envDetector] }));
}

/** Whether the work ends in time. A failed export was reported by the exporter. */
async function isWithin(ms: number, work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  const done = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
