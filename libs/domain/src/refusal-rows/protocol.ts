import type { RefusalRow } from '../base-refusal.js';

/** HTTP, limits and failures of the service: 405 to 431, 429 and 5xx. */
export const PROTOCOL = {
  method_not_allowed: {
    status: 405,
    message: 'The path exists, but not for this method.',
    action: 'Use one of the methods in the Allow header.',
  },
  not_acceptable: {
    status: 406,
    message: 'The response is not available in any media type that the Accept header allows.',
    action: 'Accept application/json.',
  },
  request_timeout: {
    status: 408,
    message: 'The request did not arrive completely in time.',
    action: 'Send the request again, on a new connection.',
  },
  cursor_expired: {
    status: 410,
    message: 'Events behind the cursor were deleted because of their age, so the reader has missed some.',
    action: 'Read the resources that you store, then list the events again without a cursor.',
  },
  precondition_failed: {
    status: 412,
    message: 'A condition in a header of the request, such as If-Match, is not met.',
    action: 'Read the file again without the condition.',
  },
  payload_too_large: {
    status: 413,
    message: 'The body is larger than the operation accepts.',
    action: 'Send a body of at most 65536 bytes.',
  },
  uri_too_long: {
    status: 414,
    message: 'The path or the query is longer than the service accepts.',
    action: 'Send a shorter path and query.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'The operation does not accept the media type of the body.',
    action: 'Send Content-Type: application/json.',
  },
  headers_too_large: {
    status: 431,
    message: 'The headers are larger than the service accepts.',
    action: 'Send fewer or shorter headers.',
  },
  rate_limited: {
    status: 429,
    message: 'The caller sent more requests than the rate limit allows.',
    action: 'Wait for the seconds in Retry-After, then try again.',
  },
  internal_error: {
    status: 500,
    message: 'The service failed unexpectedly.',
    action: 'Report the requestId. Trying again is safe for reads.',
  },
  upstream_error: {
    status: 502,
    message: 'The upstream service failed or returned an invalid response.',
    action:
      'Send a read again later. A write may have been executed: read the current state, or send the same request with the key in the Idempotency-Key header.',
  },
  upstream_timeout: {
    status: 504,
    message: 'The upstream service did not respond in time.',
    action:
      'Send a read again. A write may have been executed: read the current state, or send the same request with the key in the Idempotency-Key header.',
  },
  unavailable: {
    status: 503,
    message: 'The service is temporarily unavailable. The request was not executed.',
    action: 'Wait for the seconds in Retry-After, then send the request again.',
  },
  outcome_unknown: {
    status: 504,
    errorCode: 'unavailable',
    message: 'The request may have been executed.',
    action:
      'Send the same request again with the same Idempotency-Key. Without a key, first look for its externalReference, or in the list of what it creates or changes.',
  },
} as const satisfies Record<string, RefusalRow>;
