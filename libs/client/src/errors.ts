import { BankingError, Refusal } from '@banking/domain';

/**
 * A refusal of the service, with the id of its request.
 *
 * A `Refusal` that is not a `RemoteRefusal` was made by the client, before anything was sent.
 */
export class RemoteRefusal extends Refusal {
  static override readonly kind: string = 'RemoteRefusal';
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
 * The message is that of the response, if it has one. The `code` is its reason, or `unexpected_response`.
 */
export class ServiceError extends BankingError implements ServiceErrorFields {
  static override readonly kind: string = 'ServiceError';

  declare readonly status: number;
  readonly errorCode: string | undefined;
  readonly reason: string | undefined;
  /** Not enumerable, so that a logger does not record personal data. */
  declare readonly body: unknown;

  constructor(message: string, { body, errorCode, reason, ...fields }: ServiceErrorFields, options?: ErrorOptions) {
    super(message, { ...fields, ...options, code: reason ?? 'unexpected_response' });
    this.errorCode = errorCode;
    this.reason = reason;
    Object.defineProperty(this, 'body', { value: body, enumerable: false });
  }
}

/**
 * No complete response: the service was unreachable, the connection broke, or the deadline passed. The error of the
 * platform is the `cause`.
 */
export class ConnectionError extends BankingError {
  static override readonly kind: string = 'ConnectionError';

  declare readonly code: 'connection_failed' | 'timed_out';
  /** Whether the deadline ended the call. */
  readonly timedOut: boolean;
  /** Whether the service certainly received nothing. Always false in a browser, which hides the cause. */
  readonly neverSent: boolean;

  /** @param options.requestId the id that the call gave the request */
  constructor(
    message: string,
    {
      timedOut,
      neverSent,
      ...options
    }: {
      readonly cause: unknown;
      readonly timedOut: boolean;
      readonly neverSent: boolean;
      readonly requestId?: string | undefined;
    },
  ) {
    super(message, { ...options, code: timedOut ? 'timed_out' : 'connection_failed' });
    this.timedOut = timedOut;
    this.neverSent = neverSent;
  }
}

/**
 * A write may have been executed: no response arrived, or a 5xx other than 503 `unavailable`, or an unreadable success.
 * The failure of the last attempt is the `cause`; `status`, `requestId` and `retryAfterSeconds` are its.
 *
 * With a key, send the same request with this key, now or in a day: it is executed once. Without a key, read the current
 * state.
 */
export class OutcomeUnknownError extends BankingError {
  static override readonly kind: string = 'OutcomeUnknownError';

  declare readonly code: 'outcome_unknown';
  /** The key of the caller, or the generated one. Undefined for an operation without a key, such as a PATCH. */
  readonly idempotencyKey: string | undefined;

  constructor(message: string, options: { readonly cause: unknown; readonly idempotencyKey: string | undefined }) {
    const { cause } = options;
    const { status, requestId, retryAfterSeconds }: Partial<BankingError> = cause instanceof BankingError ? cause : {};
    super(message, { code: 'outcome_unknown', status, requestId, retryAfterSeconds, cause });
    this.idempotencyKey = options.idempotencyKey;
  }
}
