import { REFUSALS, type RefusalReason } from './refusals.js';

/** One field of the request that is at fault. */
export interface RefusalDetail {
  /** Where it stands: a JSON Pointer into the body (RFC 6901), or the name of a parameter or header. */
  readonly path: string;
  /** A stable word for what is wrong with it; not necessarily a row of the refusal table. */
  readonly reason: string;
  /** The same in a sentence. */
  readonly message: string;
}

/** The body of every error answer: the two published fields, then ours. */
export interface ErrorBody {
  readonly errorCode: string;
  readonly message: string;
  /** One row of the refusal table. A string here, because a newer service may know more rows than this library. */
  readonly reason: string;
  /** The same as the X-Request-Id header. */
  readonly requestId: string;
  readonly details?: readonly RefusalDetail[];
}

/** What a refusal may carry beside its reason. */
export interface RefusalOptions {
  readonly details?: readonly RefusalDetail[] | undefined;
  /** Whole seconds until trying again makes sense, for `rate_limited` and `unavailable`. */
  readonly retryAfterSeconds?: number | undefined;
  /** For the log; never sent. */
  readonly cause?: unknown;
}

/**
 * An expected "no": the request was understood and is refused for a reason the caller can read.
 *
 * A bug is never a Refusal: it is a plain `Error` and is answered as `internal_error`.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly reason: RefusalReason;
  readonly status: number;
  readonly errorCode: string;
  readonly details?: readonly RefusalDetail[];
  readonly retryAfterSeconds?: number;

  /** The message is sent to the caller; without one, the meaning of the reason in the table is used. */
  constructor(reason: RefusalReason, message?: string, options: RefusalOptions = {}) {
    const row = REFUSALS[reason];
    super(message ?? row.meaning, 'cause' in options ? { cause: options.cause } : undefined);
    this.reason = reason;
    this.status = row.status;
    this.errorCode = row.errorCode;
    if (options.details !== undefined) this.details = options.details;
    if (options.retryAfterSeconds !== undefined) this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Whether a word is a row of the refusal table this version of the library knows. */
export function isRefusalReason(word: string): word is RefusalReason {
  return Object.hasOwn(REFUSALS, word);
}
