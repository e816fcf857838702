import { BankingError, type BankingErrorFields } from './banking-error.js';
import type { Limit } from './resources/limit.js';

/** One invalid field of the request. */
export interface RefusalDetail {
  /** A JSON Pointer into the body (RFC 6901), or the name of a parameter or header. */
  readonly path: string;
  /** A stable code of the fault; not necessarily a row of the refusal table. */
  readonly reason: string;
  /** The fault in one sentence. */
  readonly message: string;
  /** Of `limit_exceeded`. */
  readonly limit?: Limit;
}

/** The body of every error response: the two published fields, then ours. */
export interface ErrorBody {
  readonly errorCode: string;
  readonly message: string;
  /** A row of the refusal table. A string here, because a newer service may have rows that this library does not. */
  readonly reason: string;
  /** Equal to the X-Request-Id header. */
  readonly requestId: string;
  readonly details?: readonly RefusalDetail[];
}

/** The optional parts of a refusal. Its `cause` is for the log; never sent. */
export interface RefusalOptions extends Pick<BankingErrorFields, 'requestId' | 'retryAfterSeconds' | 'cause'> {
  readonly details?: readonly RefusalDetail[] | undefined;
}

/** One row of the refusal table. */
export interface RefusalRow {
  /** HTTP status (RFC 9110). */
  readonly status: number;
  /** The published error code, where it differs from that of the status. */
  readonly errorCode?: string;
  /** The default message of the refusal, and its description in the documentation: one sentence on what is wrong. */
  readonly message: string;
  /** The next step of the caller. Only the documentation prints it. */
  readonly action: string;
}

/** The published error code of a status. Any other status has the reason as its error code. */
const ERROR_CODES: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'invalid_request',
  403: 'forbidden',
  404: 'invalid_request',
  409: 'conflict',
  422: 'unprocessable',
};

/**
 * A refusal made from its row. It does not import the table, so a page that only reads amounts does not load every
 * message of the service. Callers catch it as `Refusal`.
 */
export class BaseRefusal<Reason extends string = string> extends BankingError {
  static override readonly kind: string = 'Refusal';

  declare readonly code: Reason;
  declare readonly status: number;
  /** Equal to `code`; the name of the field on the wire. */
  readonly reason: Reason;
  readonly errorCode: string;
  readonly details?: readonly RefusalDetail[];

  constructor(reason: Reason, row: RefusalRow, message = row.message, { details, ...fields }: RefusalOptions = {}) {
    super(message, { ...fields, code: reason, status: row.status });
    this.reason = reason;
    this.errorCode = row.errorCode ?? ERROR_CODES[row.status] ?? reason;
    if (details !== undefined) this.details = details;
  }
}
