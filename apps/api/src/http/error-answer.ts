import type { ErrorBody, Refusal } from '@banking/domain';

/** For answers that are made where no hook runs. */
export const BARE_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
};

/** A refusal as it travels: the two published fields first, then ours. */
export function bodyOf({ errorCode, message, reason, details }: Refusal, requestId: string): ErrorBody {
  return { errorCode, message, reason, requestId, ...(details && { details }) };
}
