import { SpanStatusCode } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { CallerLimitSampler, samplerOf } from '../tracing/sampler.js';
import { Spans } from '../tracing/spans.js';

/** Spans that stay in memory. */
export function recordedSpans(sampler: Parameters<typeof samplerOf>[0]['sampler'] = 'parentbased_always_on') {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    sampler: new CallerLimitSampler(samplerOf({ sampler, ratio: 1 }), 10, () => '1'.repeat(32)),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const spans = new Spans(provider.getTracer('test'));
  const ended = () =>
    exporter.getFinishedSpans().map((span) => ({
      name: span.name,
      attributes: span.attributes,
      spanId: span.spanContext().spanId,
      parentId: span.parentSpanContext?.spanId,
      links: span.links.map(({ context }) => context.spanId),
      isError: span.status.code === SpanStatusCode.ERROR,
    }));
  return { spans, ended };
}
