import type { RefusalRow } from '../refusal.js';

/** HTTP itself, limits, and what is ours to mend: 405 to 431, 429, 5xx. */
export const PROTOCOL = {
  method_not_allowed: {
    status: 405,
    errorCode: 'method_not_allowed',
    meaning: 'The path exists, but not for this method.',
  },
  not_acceptable: {
    status: 406,
    errorCode: 'not_acceptable',
    meaning: 'The answer is not available in any media type the Accept header allows.',
  },
  request_timeout: {
    status: 408,
    errorCode: 'request_timeout',
    meaning: 'The request did not arrive completely in time.',
  },
  precondition_failed: {
    status: 412,
    errorCode: 'precondition_failed',
    meaning: 'A condition in a header of the request, such as If-Match, is not met.',
  },
  payload_too_large: {
    status: 413,
    errorCode: 'payload_too_large',
    meaning: 'The body is larger than the operation reads.',
  },
  uri_too_long: {
    status: 414,
    errorCode: 'uri_too_long',
    meaning: 'The path or the query is longer than the service reads.',
  },
  unsupported_media_type: {
    status: 415,
    errorCode: 'unsupported_media_type',
    meaning: 'The body is in a media type the operation does not read.',
  },
  headers_too_large: {
    status: 431,
    errorCode: 'headers_too_large',
    meaning: 'The headers are larger than the service reads.',
  },
  rate_limited: {
    status: 429,
    errorCode: 'rate_limited',
    meaning: 'The caller sent more requests than it may in this time.',
  },
  internal_error: {
    status: 500,
    errorCode: 'internal_error',
    meaning: 'The service failed in a way it did not expect.',
  },
  upstream_error: {
    status: 502,
    errorCode: 'upstream_error',
    meaning: 'What answers behind this gateway failed, or cannot be trusted.',
  },
  upstream_timeout: {
    status: 504,
    errorCode: 'upstream_timeout',
    meaning: 'What answers behind this gateway did not answer in time.',
  },
  unavailable: {
    status: 503,
    errorCode: 'unavailable',
    meaning: 'The service cannot answer at the moment. Nothing was done.',
  },
  outcome_unknown: {
    status: 504,
    errorCode: 'unavailable',
    meaning: 'The request may have been carried out.',
  },
} as const satisfies Record<string, RefusalRow>;
