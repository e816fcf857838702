import { callHook } from './hooks.js';

/** The span that a request belongs to, as headers of W3C Trace Context. */
export interface TraceContext {
  /** Such as `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`. */
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

/** Returns the context of the active span, or undefined. Called for every attempt. */
export type TraceContextSource = () => TraceContext | undefined;

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Printable ASCII, of the length that every service must pass on (W3C Trace Context, section 3.3.1.5). */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/**
 * The headers of a trace context. A context that is malformed is left out, and an error of the source is treated as that of a hook: the
 * call may move money, and its trace is less important.
 */
export function traceHeaders(source: TraceContextSource): Record<string, string> {
  let context: TraceContext | undefined;
  callHook(() => {
    context = source();
  }, undefined);
  const { traceparent, tracestate } = context ?? {};
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return {};
  if (typeof tracestate !== 'string' || !TRACESTATE.test(tracestate)) return { traceparent };
  return { traceparent, tracestate };
}
