import type { RefusalRow } from '../refusal.js';

/** The request is not what the operation takes: 400. */
export const MALFORMED = {
  request_malformed: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The request is not well-formed HTTP.',
  },
  header_repeated: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'A header that may appear once was sent more than once.',
  },
  id_malformed: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'An id is not a positive whole number of at most 2^53 - 1, written in digits without a leading zero.',
  },
  workspace_id_required: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The operation belongs to a workspace and the Workspace-ID header is missing.',
  },
  workspace_id_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The Workspace-ID header is not an id.',
  },
  body_malformed: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The body is not JSON of the shape the operation describes.',
  },
  parameter_unknown: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The query has a parameter that the operation does not know.',
  },
  parameter_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'A parameter of the query has a value that the operation does not take.',
  },
  limit_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The limit is not a whole number in the range of the parameter.',
  },
  cursor_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning:
      'The cursor belongs to another request: it is good for the same path, workspace and parameters; only `limit` may change.',
  },
  timestamp_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'An instant is not RFC 3339 with an offset, a day does not exist, or a period ends before it begins.',
  },
  field_unknown: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The body has a field that the operation does not know.',
  },
  idempotency_key_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The Idempotency-Key is not 1 to 255 visible ASCII characters.',
  },
} as const satisfies Record<string, RefusalRow>;
