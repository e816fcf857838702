import type { ErrorBody, RefusalDetail } from '@banking/domain';

/** An error as a client gets it. A `Refusal` is one. An upstream may also use reasons that our table does not have. */
export interface ErrorResponse {
  readonly status: number;
  readonly errorCode: string;
  readonly message: string;
  readonly reason: string;
  readonly details?: readonly RefusalDetail[];
  readonly retryAfterSeconds?: number;
}

/** For responses that are written where no hook runs. */
export const BARE_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
};

/** The body of an error: the two published fields first, then ours. */
export function bodyOf({ errorCode, message, reason, details }: ErrorResponse, requestId: string): ErrorBody {
  return { errorCode, message, reason, requestId, ...(details && { details }) };
}

/** An error that is no `Refusal`, translated for the client and for the log. */
export interface TranslatedError {
  readonly response: ErrorResponse;
  /** For the log, without personal data. Missing if there is nothing to log. */
  readonly why?: string;
  /** Whether an operator has to act: the line is then logged as an error. */
  readonly needsOperator?: boolean;
  /** Repeating the request with this key is safe: whether it was carried out is unknown. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * Translates the errors of the implementation behind the port.
 *
 * @returns undefined for an error of this service
 */
export type TranslateError = (thrown: unknown, operation: string | undefined) => TranslatedError | undefined;

/** The injection token of a {@link TranslateError}. Our own books need none: they throw refusals. */
export const TRANSLATE_ERROR = Symbol('TranslateError');
