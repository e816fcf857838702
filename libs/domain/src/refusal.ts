import type { RefusalReason } from './refusals.js';

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
  /** Whole seconds until trying again makes sense, for `rate_limited`, `unavailable` and `outcome_unknown`. */
  readonly retryAfterSeconds?: number | undefined;
  /** For the log; never sent. */
  readonly cause?: unknown;
}

/** One row of the refusal table: how a reason travels and what it means. What to do about it is in `refusal-actions.ts`. */
export interface RefusalRow {
  /** HTTP status (RFC 9110). */
  readonly status: number;
  /** The published error code. 400, 401 and 404 share `invalid_request`; from 405 to 431 it repeats the reason. */
  readonly errorCode: string;
  /** What happened, in one sentence a caller can read. The default message, and the documentation. */
  readonly meaning: string;
}

/** In the registry of all symbols, so that every copy of this library in a process has the same one. */
export const REFUSAL_BRAND = Symbol.for('@banking/domain/Refusal');

/**
 * A refusal made from its row, without the table it stands in: a page that only reads amounts should not have to load
 * every sentence of the service. For whoever catches it there is only `Refusal`.
 */
export class RowRefusal extends Error {
  override readonly name: string = 'Refusal';
  readonly reason: RefusalReason;
  readonly status: number;
  readonly errorCode: string;
  readonly details?: readonly RefusalDetail[];
  readonly retryAfterSeconds?: number;

  constructor(reason: RefusalReason, row: RefusalRow, message = row.meaning, options: RefusalOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.reason = reason;
    this.status = row.status;
    this.errorCode = row.errorCode;
    if (options.details !== undefined) this.details = options.details;
    if (options.retryAfterSeconds !== undefined) this.retryAfterSeconds = options.retryAfterSeconds;
  }

  /** What `instanceof Refusal` asks for. */
  get [REFUSAL_BRAND](): true {
    return true;
  }
}
