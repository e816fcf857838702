import { ROOT_CONTEXT, SpanKind, trace, TraceFlags } from '@opentelemetry/api';
import { type Sampler, SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-base';
import { CallerLimitSampler, LINKED_CONTEXT, samplerOf } from './sampler.js';

/** A ratio takes this id at any ratio above 0. */
const CHOSEN_ID = `${'0'.repeat(31)}1`;
/** A ratio takes this id only if it is 1. */
const LAST_ID = `${'f'.repeat(8)}${'0'.repeat(24)}`;

describe('the limit on traces of callers', () => {
  let nowMs: number;
  const limited = (inner: Sampler, callersPerSecond: number) =>
    new CallerLimitSampler(
      inner,
      callersPerSecond,
      () => LAST_ID,
      () => nowMs,
    );
  beforeEach(() => {
    nowMs = 0;
  });

  const remote = (traceFlags = TraceFlags.SAMPLED, isRemote = true) =>
    trace.setSpanContext(ROOT_CONTEXT, { traceId: CHOSEN_ID, spanId: '1'.repeat(16), traceFlags, isRemote });
  const isRecorded = (sampler: Sampler, context = remote()) =>
    sampler.shouldSample(context, CHOSEN_ID, 'GET', SpanKind.SERVER, {}, []).decision ===
    SamplingDecision.RECORD_AND_SAMPLED;
  const countOf = (sampler: Sampler, requests: number, context = remote()) =>
    Array.from({ length: requests }, () => isRecorded(sampler, context)).filter(Boolean).length;

  it('records as many sampled traces a second as it allows, and after a pause no more than of one second', () => {
    const sampler = limited(samplerOf({ sampler: 'parentbased_always_off', ratio: 1 }), 10);

    expect(countOf(sampler, 100)).toBe(10);
    nowMs = 500;
    expect(countOf(sampler, 100)).toBe(5);
    nowMs = 60_000;
    expect(countOf(sampler, 100)).toBe(10);
  });

  it.each(['parentbased_traceidratio', 'traceidratio'] as const)(
    'lets no chosen trace id pass the ratio of %s',
    (name) => {
      const sampler = limited(samplerOf({ sampler: name, ratio: 0.5 }), 1);

      expect(isRecorded(new TraceIdRatioBasedSampler(0.5))).toBe(true);
      expect(countOf(sampler, 100)).toBe(1);
    },
  );

  it('decides further requests as the sampler decides those without a caller', () => {
    expect(countOf(limited(samplerOf({ sampler: 'parentbased_always_on', ratio: 1 }), 0), 5)).toBe(5);
    expect(countOf(limited(samplerOf({ sampler: 'always_on', ratio: 1 }), 0), 5)).toBe(5);
    expect(countOf(limited(samplerOf({ sampler: 'always_off', ratio: 1 }), 10), 5)).toBe(0);
  });

  it('records no trace that its caller does not record, with a sampler that follows the caller', () => {
    const sampler = limited(samplerOf({ sampler: 'parentbased_always_on', ratio: 1 }), 10);

    expect(countOf(sampler, 5, remote(TraceFlags.NONE))).toBe(0);
  });

  it('does not count spans of this process', () => {
    const sampler = limited(samplerOf({ sampler: 'parentbased_always_off', ratio: 1 }), 0);

    expect(countOf(sampler, 5, remote(TraceFlags.SAMPLED, false))).toBe(5);
  });

  it('records a span that is linked to a recorded one', () => {
    const sampler = limited(samplerOf({ sampler: 'parentbased_always_off', ratio: 1 }), 0);

    expect([isRecorded(sampler, ROOT_CONTEXT), isRecorded(sampler, LINKED_CONTEXT)]).toEqual([false, true]);
  });
});
