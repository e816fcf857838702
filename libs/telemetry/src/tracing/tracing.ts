/** The ids of a span, as log lines carry them. */
export interface TraceIds {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
}

/** The headers by which another service continues a trace (W3C Trace Context). */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** A request when its head has arrived. */
export interface ReceivedRequest {
  readonly method: string;
  /** The template of its route, never its path. Undefined if no route matches. */
  readonly route?: string | undefined;
  readonly requestId: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** The end of a request. */
export interface RequestEnd {
  /** Undefined if its caller has disconnected before a response. */
  readonly status?: number | undefined;
  readonly workspaceId?: number | undefined;
  /** The reason in the body of an error. */
  readonly refusal?: string | undefined;
}

/** The span of a request. */
export interface RequestTrace extends TraceIds {
  /** Runs work whose spans and log lines belong to the request. */
  run<T>(work: () => T): T;
  end(end: RequestEnd): void;
}

/** The traces of this process. */
export interface Tracing {
  /** Begins the span of a request. It continues the trace that its headers name. */
  startRequest(request: ReceivedRequest): RequestTrace;
  /** The ids of the active span, which is recorded. A new object for each call. */
  activeIds(): TraceIds | undefined;
  /** The headers by which another service continues the active trace, or that of this request if it is not recorded. */
  headersFor(requestId: string | undefined): TraceHeaders | undefined;
  /** Sends the spans that are left, for at most this time, and ends the recording. Never throws. */
  close(withinMs: number): Promise<void>;
}

/** What happens to the export of spans. */
export type ExportEvent =
  /** Spans could not be sent. Reported once, until they are sent again. */
  | { readonly kind: 'failing'; readonly why: string }
  /** Spans are sent again. */
  | { readonly kind: 'sending'; readonly lostSpans: number }
  /** The SDK warns, such as of spans that its full queue has dropped. */
  | { readonly kind: 'warning'; readonly why: string }
  /** The stop did not wait any longer. */
  | { readonly kind: 'abandoned' };

export type ReportExport = (event: ExportEvent) => void;
