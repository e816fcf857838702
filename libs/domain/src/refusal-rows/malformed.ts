import type { RefusalRow } from '../refusal.js';

/** The request is not what the operation takes: 400. */
export const MALFORMED = {
  request_malformed: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The request is not well-formed HTTP.',
    action: 'Check the request line, the encoding of the path and the framing of the body.',
  },
  header_repeated: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'A header that may appear once was sent more than once.',
    action: 'Send the header once.',
  },
  id_malformed: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'An id is not a positive whole number of at most 2^53 - 1, written in digits without a leading zero.',
    action: 'Send the id exactly as an earlier answer gave it.',
  },
  workspace_id_required: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The operation belongs to a workspace and the Workspace-ID header is missing.',
    action: 'Send Workspace-ID with the id of a workspace from the roles of the user.',
  },
  workspace_id_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The Workspace-ID header is not an id.',
    action: 'Send the id of one workspace, in digits.',
  },
  body_malformed: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The body is not JSON of the shape the operation describes.',
    action: 'Compare the body with the schema of the operation; details names the fields.',
  },
  parameter_unknown: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The query has a parameter that the operation does not know.',
    action: 'Compare the query with the parameters of the operation; details names them.',
  },
  parameter_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'A parameter of the query has a value that the operation does not take.',
    action: 'Compare the value with the parameter of the operation; details names it.',
  },
  limit_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The limit is not a whole number from 1 to 500.',
    action: 'Send a limit from 1 to 500, or none for 100.',
  },
  cursor_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The cursor is not one that a page of this very list gave: same workspace, same filters.',
    action: 'Follow the Link header as it stands, or begin again without a cursor.',
  },
  timestamp_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'An instant is not RFC 3339 with an offset, or its day does not exist.',
    action: 'Write it as 2026-11-21T09:30:00Z, or with an offset as in 2026-11-21T10:30:00+01:00.',
  },
  field_unknown: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The body has a field that the operation does not know.',
    action: 'Leave the field out, or correct its name; details names it.',
  },
  idempotency_key_invalid: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The Idempotency-Key is not 1 to 255 visible ASCII characters.',
    action: 'Send a key without spaces, such as a UUID, or none.',
  },
} as const satisfies Record<string, RefusalRow>;
