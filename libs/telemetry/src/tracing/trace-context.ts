import { createTraceState, isSpanContextValid, type SpanContext, TraceFlags } from '@opentelemetry/api';
import type { TraceHeaders } from './tracing.js';

/** Version, trace id, span id and flags (W3C Trace Context, section 3.2). Only later versions have more parts. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** A longer state is dropped as a whole (section 3.3.1.5): the API would return the rest of it in another order. */
const STATE_MAX = { members: 32, characters: 512 };

const isStateWithin = (state: string) =>
  state.length <= STATE_MAX.characters && state.split(',').length <= STATE_MAX.members;

/** The span of another service that a request belongs to. Malformed headers are ignored, as the specification requires. */
export function remoteSpanOf(headers: Readonly<Record<string, unknown>>): SpanContext | undefined {
  const { traceparent, tracestate } = headers;
  // Node joins a header that was sent twice, so that it does not match.
  const parts = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent) : null;
  if (parts === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = parts;
  if (version === '00' && more !== undefined) return undefined;
  const span: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(typeof tracestate === 'string' && isStateWithin(tracestate) && { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(span) ? span : undefined;
}

export function headersOf({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceHeaders {
  const tracestate = traceState?.serialize() || undefined;
  return {
    traceparent: `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`,
    ...(tracestate !== undefined && { tracestate }),
  };
}
