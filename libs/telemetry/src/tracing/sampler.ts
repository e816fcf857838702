import {
  type Attributes,
  type Context,
  createContextKey,
  type Link,
  ROOT_CONTEXT,
  type SpanKind,
  trace,
} from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  type SamplingResult,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { TracingConfig } from '@banking/process';

const IS_LINKED = createContextKey('linked to a recorded span');

/** A root context whose span is recorded, because it is linked to a span that is recorded. */
export const LINKED_CONTEXT: Context = ROOT_CONTEXT.setValue(IS_LINKED, true);

/** The sampler of OTEL_TRACES_SAMPLER, as the SDK makes it. */
export function samplerOf({ sampler, ratio }: Pick<TracingConfig, 'sampler' | 'ratio'>): Sampler {
  switch (sampler) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}

/**
 * Limits how many requests are recorded because of the trace that their caller names: by its flag, or by an id that was chosen to fall
 * into the ratio. Further requests are decided as if they began a trace of their own, with an id that the caller has not chosen.
 */
export class CallerLimitSampler implements Sampler {
  private allowance: number;
  private refilledAtMs: number;

  constructor(
    private readonly inner: Sampler,
    private readonly callersPerSecond: number,
    private readonly newTraceId: () => string,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.allowance = callersPerSecond;
    this.refilledAtMs = nowMs();
  }

  shouldSample(
    context: Context,
    traceId: string,
    name: string,
    kind: SpanKind,
    attributes: Attributes,
    links: Link[],
  ): SamplingResult {
    if (context.getValue(IS_LINKED) === true) return { decision: SamplingDecision.RECORD_AND_SAMPLED };
    const result = this.inner.shouldSample(context, traceId, name, kind, attributes, links);
    const isRecorded = result.decision !== SamplingDecision.NOT_RECORD;
    if (!isRecorded || trace.getSpanContext(context)?.isRemote !== true || this.takesCaller()) return result;
    return this.inner.shouldSample(trace.deleteSpan(context), this.newTraceId(), name, kind, attributes, links);
  }

  toString(): string {
    return `CallerLimit{${this.inner.toString()}, ${this.callersPerSecond} a second}`;
  }

  private takesCaller(): boolean {
    const nowMs = this.nowMs();
    const refill = ((nowMs - this.refilledAtMs) / 1_000) * this.callersPerSecond;
    this.refilledAtMs = nowMs;
    this.allowance = Math.min(this.callersPerSecond, this.allowance + refill);
    if (this.allowance < 1) return false;
    this.allowance -= 1;
    return true;
  }
}
