import { type Span, SpanKind } from '@opentelemetry/api';
import { upstreamChannel } from '../gateway-channels.js';
import { fail, typeOf } from './failures.js';
import type { Spans } from './spans.js';
import { remoteSpanOf } from './trace-context.js';
import type { ReceivedRequest, RequestEnd, RequestTrace } from './tracing.js';

/** The methods of the semantic conventions for HTTP. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY']);

/** Begins the span of a request. Path and query are left out, because they hold ids and names. */
export function startRequest(spans: Spans, { method, route, requestId, headers }: ReceivedRequest): RequestTrace {
  const known = METHODS.has(method) ? method : '_OTHER';
  const attributes = {
    'http.request.method': known,
    ...(route !== undefined && { 'http.route': route }),
    'url.scheme': 'http',
    'banking.request.id': requestId,
  };
  const name = `${known === '_OTHER' ? 'HTTP' : known}${route === undefined ? '' : ` ${route}`}`;
  return new RequestSpan(spans, spans.startRoot(name, { kind: SpanKind.SERVER, attributes }, remoteSpanOf(headers)));
}

class RequestSpan implements RequestTrace {
  readonly traceId: string;
  readonly spanId: string;

  constructor(
    private readonly spans: Spans,
    private readonly span: Span,
  ) {
    ({ traceId: this.traceId, spanId: this.spanId } = span.spanContext());
  }

  run<T>(work: () => T): T {
    return this.spans.run(this.span, work);
  }

  end({ status, workspaceId, refusal }: RequestEnd): void {
    const { span } = this;
    if (workspaceId !== undefined) span.setAttribute('banking.workspace.id', workspaceId);
    if (refusal !== undefined) span.setAttribute('banking.refusal', refusal);
    if (status === undefined) fail(span, 'client_disconnect');
    else span.setAttribute('http.response.status_code', status);
    if (status !== undefined && status >= 500) fail(span, String(status));
    span.end();
  }
}

/** A request of a gateway to its upstream. */
export function followUpstream(spans: Spans): void {
  spans.follow(upstreamChannel, {
    start({ operation, method }) {
      const parent = spans.recording;
      if (parent === undefined) return { other: spans.active };
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
