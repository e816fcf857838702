import type { ErrorBody, RefusalDetail } from '@banking/domain';

/** What is said to whoever is refused. A `Refusal` is one; an upstream may also use words our table does not have. */
export interface ErrorAnswer {
  readonly status: number;
  readonly errorCode: string;
  readonly message: string;
  readonly reason: string;
  readonly details?: readonly RefusalDetail[];
  readonly retryAfterSeconds?: number;
}

/** For answers that are made where no hook runs. */
export const BARE_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
};

/** A refusal as it travels: the two published fields first, then ours. */
export function bodyOf({ errorCode, message, reason, details }: ErrorAnswer, requestId: string): ErrorBody {
  return { errorCode, message, reason, requestId, ...(details && { details }) };
}
