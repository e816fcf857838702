import {
  createTraceState,
  isSpanContextValid,
  type Span,
  type SpanContext,
  SpanKind,
  TraceFlags,
} from '@opentelemetry/api';
import { fail, type Spans } from './spans.js';
import type { ReceivedRequest, RequestEnd, RequestTrace, TraceHeaders } from './tracing.js';

/** The methods of the semantic conventions for HTTP. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY']);

/** The requests that are served. Path and query are left out of their spans, because they hold ids and names. */
export class RequestSpans {
  /** By request id: those that are not recorded, which are not active, and whose trace another service may continue. */
  private readonly unrecorded = new Map<string, SpanContext>();

  constructor(private readonly spans: Spans) {}

  start({ method, route, requestId, headers }: ReceivedRequest): RequestTrace {
    const known = METHODS.has(method) ? method : '_OTHER';
    const attributes = {
      'http.request.method': known,
      ...(route !== undefined && { 'http.route': route }),
      'url.scheme': 'http',
      'banking.request.id': requestId,
    };
    const name = `${known === '_OTHER' ? 'HTTP' : known}${route === undefined ? '' : ` ${route}`}`;
    const span = this.spans.startRoot(name, { kind: SpanKind.SERVER, attributes }, remoteSpanOf(headers));
    const context = span.spanContext();
    const { traceId, spanId } = context;
    const run = <T>(work: () => T): T => this.spans.run(span, work);
    if (span.isRecording()) return { traceId, spanId, run, end: (end) => this.end(span, end) };
    this.unrecorded.set(requestId, context);
    return { traceId, spanId, run, end: () => void this.unrecorded.delete(requestId) };
  }

  /** The headers by which another service continues the active trace, or that of a request that is not recorded. */
  headersFor(requestId: string | undefined): TraceHeaders | undefined {
    const context = this.spans.active?.spanContext() ?? this.unrecorded.get(requestId ?? '');
    return context && headersOf(context);
  }

  private end(span: Span, { status, workspaceId, refusal }: RequestEnd): void {
    if (workspaceId !== undefined) span.setAttribute('banking.workspace.id', workspaceId);
    if (refusal !== undefined) span.setAttribute('banking.refusal', refusal);
    if (status === undefined) fail(span, 'client_disconnect');
    else span.setAttribute('http.response.status_code', status);
    if (status !== undefined && status >= 500) fail(span, String(status));
    this.spans.endRoot(span);
  }
}

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
