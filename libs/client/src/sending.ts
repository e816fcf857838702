import type { Intent, Scope } from '@banking/domain';

/** What of an answer is read. The platform's own `Response` is one. */
export interface RawAnswer {
  /** 0 for a redirect in a browser, which does not show it. */
  readonly status: number;
  readonly type?: string;
  readonly headers: { get(name: string): string | null };
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** How one request is sent. It must heed `signal`, and must not follow a redirect. */
export interface Sending {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: 'manual';
  readonly credentials: 'omit';
  readonly cache: 'no-store';
  readonly signal: AbortSignal;
  /** The call this request belongs to, for a transport that tells users apart. It is no part of the request. */
  readonly call: Pick<Call, 'operation' | 'method' | 'workspaceId' | 'actor'>;
}

/**
 * What sends a request: the platform's `fetch`, or anything that behaves like it.
 *
 * A `Refusal` it throws says that nothing was sent, and reaches the caller as it is.
 */
export type Transport = (url: URL, sending: Sending) => Promise<RawAnswer>;

/** One try of a call, as it is about to be sent. */
export interface SignableRequest {
  readonly method: string;
  /** Absolute. */
  readonly url: URL;
  /** With `Content-Type` where there is a body. Without `Authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes of the body; undefined where there is none. */
  readonly body?: Uint8Array | undefined;
}

/** Headers to send beside the others, made anew for every try. */
export type RequestSigner = (request: SignableRequest) => Promise<Readonly<Record<string, string>>>;

/** How one call differs from the others of its client. */
export interface CallOptions {
  /** Ends the call. What changes something and was on its way ends as OutcomeUnknownError. */
  readonly signal?: AbortSignal | undefined;
  /** Instead of the client's own. */
  readonly timeoutMs?: number | undefined;
}

/** A key of your own where you have one, and how this call differs from others. */
export type CreationOptions = Intent & CallOptions;

/** One operation with what it is given: all its tries send the same. */
export interface Call extends Pick<Scope, 'workspaceId' | 'requestId' | 'actor'> {
  /** The port's word for it: `placeOrder`. */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Relative to the base, encoded, with its query. */
  readonly path: string;
  /** Where the former revision of the interface had the operation. */
  readonly formerPath?: string | undefined;
  readonly body?: object | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Of the resource that is asked for. An answer that is another one is not believed. */
  readonly id?: number | undefined;
}

/** A call for a message or a log: without the query, because filters name people's accounts. */
export const nameOf = ({ method, path }: Call) => `${method} /${path.split('?', 1)[0]}`;
