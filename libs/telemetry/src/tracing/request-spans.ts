import { type Span, type SpanContext, SpanKind } from '@opentelemetry/api';
import { upstreamChannel } from '../http-channels.js';
import { fail, typeOf } from './failures.js';
import type { Spans } from './spans.js';
import { headersOf, remoteSpanOf } from './trace-context.js';
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

/** A request of a gateway to its upstream. */
export function followUpstream(spans: Spans): void {
  spans.follow(upstreamChannel, {
    start({ operation, method }) {
      const parent = spans.active;
      if (parent === undefined) return { other: undefined };
      const attributes = { 'http.request.method': method, 'banking.operation': operation };
      return { own: spans.startChild(parent, `${method} ${operation}`, { kind: SpanKind.CLIENT, attributes }) };
    },
    complete(span, { result, error }) {
      if (result !== undefined) span.setAttribute('http.response.status_code', result.status);
      if (error !== undefined) fail(span, typeOf(error));
      else if (result !== undefined && result.status >= 400) fail(span, String(result.status));
    },
  });
}
