import type { RequestOptions, Scope } from '@banking/domain';

/** The part of a response that the client reads. The platform's `Response` implements it. */
export interface RawResponse {
  /** 0 for a redirect in a browser, which hides it. */
  readonly status: number;
  readonly type?: string;
  readonly headers: { get(name: string): string | null };
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** The second argument of a `Transport`. A transport must obey `signal` and must not follow redirects. */
export interface TransportRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: 'manual';
  readonly credentials: 'omit';
  readonly cache: 'no-store';
  readonly signal: AbortSignal;
  /** The call of this request, for a transport that separates users. It is not sent. */
  readonly call: Pick<Call, 'operation' | 'method' | 'workspaceId' | 'actor' | 'holdMs'>;
}

/**
 * Sends a request: the platform's `fetch`, or a function that behaves like it.
 *
 * It throws a `Refusal` if it did not send anything. The caller receives this refusal unchanged.
 */
export type Transport = (url: URL, request: TransportRequest) => Promise<RawResponse>;

/** Options of one call. */
export interface CallOptions {
  /** Ends the call. A write that was already sent ends with OutcomeUnknownError. */
  readonly signal?: AbortSignal | undefined;
  /** Replaces the timeout of the client. */
  readonly timeoutMs?: number | undefined;
  /** The id of the request in the log of the service: 1 to 128 letters, digits, dots, dashes and underscores. */
  readonly requestId?: string | undefined;
}

/** Options of a creation: the idempotency key of the caller, if any, and those of every call. */
export type CreationOptions = RequestOptions & CallOptions;

/** One operation with its arguments. All its attempts send the same request. */
export interface Call extends Pick<Scope, 'workspaceId' | 'requestId' | 'actor'> {
  /** The method of the port: `placeOrder`. */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to the base, encoded, with its query. */
  readonly path: string;
  /** The path of the operation in the former revision of the interface. */
  readonly formerPath?: string | undefined;
  readonly body?: object | undefined;
  readonly idempotencyKey?: string | undefined;
  /** How long the service may hold the request, in addition to the deadline. */
  readonly holdMs?: number | undefined;
  /** The id of the requested resource. A response with another id is an error. */
  readonly id?: number | undefined;
  /** Whether the service acts after the response, whose status is 202. */
  readonly isDeferred?: boolean;
}

/** Names a call in messages and logs, without the query, because filters name people's accounts. */
export const nameOf = ({ method, path }: Call) => `${method} /${path.split('?', 1)[0]}`;
