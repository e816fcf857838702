import { Refusal, type RefusalOptions, type RefusalReason } from '@banking/domain';

// A process that both imports and requires this library has two copies of each class. `instanceof` holds for both: it
// asks for a brand from the registry of all symbols. A subclass inherits the question and asks its own prototype.
const REMOTE_REFUSAL = Symbol.for('@banking/client/RemoteRefusal');
const SERVICE_ERROR = Symbol.for('@banking/client/ServiceError');
const CONNECTION_ERROR = Symbol.for('@banking/client/ConnectionError');

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
 * No complete answer: the service could not be reached, the connection broke, or the time was over. Whether the service
 * received the request is not known. The platform's own error is the `cause`.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Whether it was `timeoutMs` that ended it. */
  readonly timedOut: boolean;

  constructor(message: string, options: { readonly cause: unknown; readonly timedOut: boolean }) {
    super(message, { cause: options.cause });
    this.timedOut = options.timedOut;
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
