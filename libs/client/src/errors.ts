import { Refusal, type RefusalOptions, type RefusalReason } from '@banking/domain';

// A process that both imports and requires this library has two copies of each class. `instanceof` is true for both,
// because it checks a brand from the registry of all symbols. A subclass checks its own prototype.
const REMOTE_REFUSAL = Symbol.for('@banking/client/RemoteRefusal');
const SERVICE_ERROR = Symbol.for('@banking/client/ServiceError');
const CONNECTION_ERROR = Symbol.for('@banking/client/ConnectionError');
const OUTCOME_UNKNOWN_ERROR = Symbol.for('@banking/client/OutcomeUnknownError');

/**
 * A refusal of the service, with the id of its request.
 *
 * A `Refusal` that is not a `RemoteRefusal` was made by the client, before anything was sent.
 */
export class RemoteRefusal extends Refusal {
  /** Give it to support. Undefined if the response has none. */
  readonly requestId: string | undefined;

  constructor(
    reason: RefusalReason,
    message: string | undefined,
    { requestId, ...options }: RefusalOptions & { readonly requestId?: string | undefined },
  ) {
    super(reason, message, options);
    this.requestId = requestId;
  }

  /** Read by `instanceof RemoteRefusal`. */
  get [REMOTE_REFUSAL](): true {
    return true;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== RemoteRefusal) return super[Symbol.hasInstance](value);
    return (value as Partial<RemoteRefusal> | null | undefined)?.[REMOTE_REFUSAL] === true;
  }
}

/** The fields of an unexpected response, as far as it has them. */
export interface ServiceErrorFields {
  /** The HTTP status; 0 for a redirect in a browser, which hides it. */
  readonly status: number;
  readonly errorCode?: string | undefined;
  /** A reason that is not in the table of this version, or has another status there. */
  readonly reason?: string | undefined;
  readonly requestId?: string | undefined;
  /** Whole seconds, from Retry-After. */
  readonly retryAfterSeconds?: number | undefined;
  /** The parsed JSON of the body, or its text if it is not JSON or has numbers beyond 2^53 - 1. */
  readonly body: unknown;
}

/**
 * A response that is neither the expected success nor a known refusal: an unknown reason, a status of a proxy, a
 * redirect, a success with an invalid body.
 *
 * The message is that of the response, if it has one.
 */
export class ServiceError extends Error implements ServiceErrorFields {
  override readonly name = 'ServiceError';
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly reason: string | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** Not enumerable, so that a logger does not record personal data. */
  declare readonly body: unknown;

  constructor(message: string, { body, ...fields }: ServiceErrorFields, options?: ErrorOptions) {
    super(message, options);
    this.status = fields.status;
    this.errorCode = fields.errorCode;
    this.reason = fields.reason;
    this.requestId = fields.requestId;
    this.retryAfterSeconds = fields.retryAfterSeconds;
    Object.defineProperty(this, 'body', { value: body, enumerable: false });
  }

  /** Read by `instanceof ServiceError`. */
  get [SERVICE_ERROR](): true {
    return true;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== ServiceError) return super[Symbol.hasInstance](value);
    return (value as Partial<ServiceError> | null | undefined)?.[SERVICE_ERROR] === true;
  }
}

/**
 * No complete response: the service was unreachable, the connection broke, or the deadline passed. The error of the
 * platform is the `cause`.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Whether the deadline ended the call. */
  readonly timedOut: boolean;
  /** Whether the service certainly received nothing. Always false in a browser, which hides the cause. */
  readonly neverSent: boolean;

  constructor(
    message: string,
    options: { readonly cause: unknown; readonly timedOut: boolean; readonly neverSent: boolean },
  ) {
    super(message, { cause: options.cause });
    this.timedOut = options.timedOut;
    this.neverSent = options.neverSent;
  }

  /** Read by `instanceof ConnectionError`. */
  get [CONNECTION_ERROR](): true {
    return true;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== ConnectionError) return super[Symbol.hasInstance](value);
    return (value as Partial<ConnectionError> | null | undefined)?.[CONNECTION_ERROR] === true;
  }
}

/**
 * A write may have been executed: no response arrived, or a 5xx other than 503 `unavailable`, or an unreadable success.
 * The failure of the last attempt is the `cause`.
 *
 * With a key, send the same request with this key, now or in a day: it is executed once. Without a key, read the current
 * state.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
  /** The key of the caller, or the generated one. Undefined for an operation without a key, such as a PATCH. */
  readonly idempotencyKey: string | undefined;

  constructor(message: string, options: { readonly cause: unknown; readonly idempotencyKey: string | undefined }) {
    super(message, { cause: options.cause });
    this.idempotencyKey = options.idempotencyKey;
  }

  /** Read by `instanceof OutcomeUnknownError`. */
  get [OUTCOME_UNKNOWN_ERROR](): true {
    return true;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== OutcomeUnknownError) return super[Symbol.hasInstance](value);
    return (value as Partial<OutcomeUnknownError> | null | undefined)?.[OUTCOME_UNKNOWN_ERROR] === true;
  }
}
