import { randomUUID } from 'node:crypto';
import { diag, DiagLogLevel } from '@opentelemetry/api';
import {
  type ReadableSpan,
  type SpanExporter,
  BasicTracerProvider,
  BatchSpanProcessor,
  RandomIdGenerator,
} from '@opentelemetry/sdk-trace-base';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import type { TracingConfig } from '@banking/process';
import type { ReportExport, Tracing } from './tracing.js';
import { followDatabase, followOrders, followUpstream, followWork } from './channel-spans.js';
import { RequestSpans } from './request-spans.js';
import { CallerLimitSampler, samplerOf } from './sampler.js';
import { Spans } from './spans.js';

/** A warning that differs in its numbers only is reported again after this time. */
const REPEAT_MS = 10 * 60_000;

/**
 * Reports the warnings of the SDK, such as of spans that its full queue has dropped. Its errors are those of batches, which the exporter
 * reports when they begin. Further arguments are left out, because they hold responses of the collector.
 */
function reportSdkWarnings(report: ReportExport, nowMs: () => number = () => performance.now()): void {
  const reportedAtMs = new Map<string, number>();
  const warn = (message: string) => {
    const kind = message.replaceAll(/[0-9]+/g, 'N');
    const lastMs = reportedAtMs.get(kind);
    if (lastMs !== undefined && nowMs() - lastMs < REPEAT_MS) return;
    reportedAtMs.set(kind, nowMs());
    report({ kind: 'warning', why: message });
  };
  const ignore = () => undefined;
  const logger = { error: ignore, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** `ExportResultCode.SUCCESS` of `@opentelemetry/core`. */
const SUCCESS = 0;

/** Reports when an exporter begins to fail and when it sends again, and not each batch that fails. */
class ReportedExporter implements SpanExporter {
  private isFailing = false;
  private lostSpans = 0;

  constructor(
    private readonly inner: SpanExporter,
    private readonly report: ReportExport,
  ) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.inner.export(spans, (result) => {
      this.note(spans.length, result);
      done(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.inner.forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown();
  }

  private note(spans: number, { code, error }: ExportResult): void {
    if (code !== SUCCESS) {
      this.lostSpans += spans;
      if (!this.isFailing) this.report({ kind: 'failing', why: whyOf(error) });
      this.isFailing = true;
    } else if (this.isFailing) {
      this.report({ kind: 'sending', lostSpans: this.lostSpans });
      this.isFailing = false;
      this.lostSpans = 0;
    }
  }
}

/** The code of the system or the status of the collector. Its message and its body may repeat what was sent. */
function whyOf(error: Error | undefined): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: string };
  if (typeof code === 'number') return `the collector responded with ${code}`;
  return typeof code === 'string' ? code : (name ?? 'no reason given');
}

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
