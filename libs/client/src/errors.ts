import { Refusal, type RefusalOptions, type RefusalReason } from '@banking/domain';

// A process that both imports and requires this library has two copies of each class. `instanceof` holds for both: it
// asks for a brand from the registry of all symbols. A subclass inherits the question and asks its own prototype.
const REMOTE_REFUSAL = Symbol.for('@banking/client/RemoteRefusal');
const SERVICE_ERROR = Symbol.for('@banking/client/ServiceError');
const CONNECTION_ERROR = Symbol.for('@banking/client/ConnectionError');
const OUTCOME_UNKNOWN_ERROR = Symbol.for('@banking/client/OutcomeUnknownError');

/**
 * A refusal that the service answered: the same `Refusal` as everywhere, and the id of the request that got it.
 *
 * A `Refusal` that is no `RemoteRefusal` was made here, before anything was sent.
 */
export class RemoteRefusal extends Refusal {
  /** Name it when you ask for help. Missing where the answer gave none. */
  readonly requestId: string | undefined;

  constructor(
    reason: RefusalReason,
    message: string | undefined,
    { requestId, ...options }: RefusalOptions & { readonly requestId?: string | undefined },
  ) {
    super(reason, message, options);
    this.requestId = requestId;
  }

  /** What `instanceof RemoteRefusal` asks for. */
  get [REMOTE_REFUSAL](): true {
    return true;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== RemoteRefusal) return super[Symbol.hasInstance](value);
    return (value as Partial<RemoteRefusal> | null | undefined)?.[REMOTE_REFUSAL] === true;
  }
}

/** What an answer says about itself, as far as it says it. */
export interface ServiceErrorFields {
  /** The HTTP status; 0 for a redirect in a browser, which does not show it. */
  readonly status: number;
  readonly errorCode?: string | undefined;
  /** A word this version does not know, or knows under another status. */
  readonly reason?: string | undefined;
  readonly requestId?: string | undefined;
  /** Whole seconds, from Retry-After. */
  readonly retryAfterSeconds?: number | undefined;
  /** The body: what its JSON says, or its text where it is no JSON or its numbers cannot be trusted. */
  readonly body: unknown;
}

/**
 * An answer that is neither what was asked for nor a refusal this version knows: an unknown reason, a status of a proxy
 * in between, a redirect, a success whose body cannot be trusted.
 *
 * The message is the answer's own where it has one.
 */
export class ServiceError extends Error implements ServiceErrorFields {
  override readonly name = 'ServiceError';
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly reason: string | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** Not enumerable, so that a logger does not write down whose money it was: ask for it by name. */
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

  /** What `instanceof ServiceError` asks for. */
  get [SERVICE_ERROR](): true {
    return true;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== ServiceError) return super[Symbol.hasInstance](value);
    return (value as Partial<ServiceError> | null | undefined)?.[SERVICE_ERROR] === true;
  }
}

/**
 * No complete answer: the service could not be reached, the connection broke, or the time was over. The platform's own
 * error is the `cause`.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Whether it was the time that ended it. */
  readonly timedOut: boolean;
  /** Whether it is certain that the service has received nothing. A browser does not say enough to know. */
  readonly neverSent: boolean;

  constructor(
    message: string,
    options: { readonly cause: unknown; readonly timedOut: boolean; readonly neverSent: boolean },
  ) {
    super(message, { cause: options.cause });
    this.timedOut = options.timedOut;
    this.neverSent = options.neverSent;
  }

  /** What `instanceof ConnectionError` asks for. */
  get [CONNECTION_ERROR](): true {
    return true;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== ConnectionError) return super[Symbol.hasInstance](value);
    return (value as Partial<ConnectionError> | null | undefined)?.[CONNECTION_ERROR] === true;
  }
}

/**
 * Something was to be made or changed, and whether it was is not known: no answer, a 5xx other than a 503 `unavailable`, or a success
 * that cannot be read. What ended the last try is the `cause`.
 *
 * With a key: send the same once more with this key, now or in a day; it is carried out once. Without one, read how
 * things stand.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
  /** Of the intent, yours or the one that was made for it. Undefined for what takes none, such as a PATCH. */
  readonly idempotencyKey: string | undefined;

  constructor(message: string, options: { readonly cause: unknown; readonly idempotencyKey: string | undefined }) {
    super(message, { cause: options.cause });
    this.idempotencyKey = options.idempotencyKey;
  }

  /** What `instanceof OutcomeUnknownError` asks for. */
  get [OUTCOME_UNKNOWN_ERROR](): true {
    return true;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== OutcomeUnknownError) return super[Symbol.hasInstance](value);
    return (value as Partial<OutcomeUnknownError> | null | undefined)?.[OUTCOME_UNKNOWN_ERROR] === true;
  }
}
