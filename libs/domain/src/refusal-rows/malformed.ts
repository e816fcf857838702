import type { RefusalRow } from '../base-refusal.js';

/** 400: the request is not valid for the operation. */
export const MALFORMED = {
  request_malformed: {
    status: 400,
    message: 'The request is not well-formed HTTP.',
    action: 'Check the request line, the percent-encoding of path and query, and the framing of the body.',
  },
  header_repeated: {
    status: 400,
    message: 'A header that may appear once was sent more than once.',
    action: 'Send the header once.',
  },
  id_malformed: {
    status: 400,
    message: 'An id must be a whole number from 1 to 2^53 - 1, in digits without a leading zero.',
    action: 'Send the id exactly as an earlier response gave it.',
  },
  workspace_id_required: {
    status: 400,
    message: 'The operation belongs to a workspace, and the Workspace-ID header is missing.',
    action: 'Send Workspace-ID with the id of a workspace from the roles of the user.',
  },
  workspace_id_invalid: {
    status: 400,
    message: 'The Workspace-ID header is not an id.',
    action: 'Send the id of one workspace, in digits.',
  },
  body_malformed: {
    status: 400,
    message: 'The body is not JSON, or does not match the schema of the operation.',
    action:
      'Compare the body with the schema of the operation; details names the fields. Give each member of an object once.',
  },
  parameter_unknown: {
    status: 400,
    message: 'The query has a parameter that the operation does not have.',
    action: 'Remove the parameter, or correct its name; details names it.',
  },
  parameter_repeated: {
    status: 400,
    message: 'A query parameter that may appear once was sent more than once.',
    action: 'Send the parameter once; details names it.',
  },
  parameter_invalid: {
    status: 400,
    message: 'A query parameter has a value that the operation does not accept.',
    action: 'Send a value that the parameter accepts; details names the parameter.',
  },
  limit_invalid: {
    status: 400,
    message: 'The limit must be a whole number from 1 to 500.',
    action: 'Send a limit in that range, or none.',
  },
  cursor_invalid: {
    status: 400,
    message: 'The cursor belongs to another path, workspace or filter. Only `limit` may change between pages.',
    action: 'Follow the Link header unchanged, or start again without a cursor.',
  },
  timestamp_invalid: {
    status: 400,
    message: 'A time is not RFC 3339 with an offset, a day does not exist, or a period ends before it begins.',
    action: 'Write the time as 2026-11-21T09:30:00Z, or with an offset as in 2026-11-21T10:30:00+01:00.',
  },
  field_unknown: {
    status: 400,
    message: 'The body has a field that the operation does not have.',
    action: 'Remove the field, or correct its name; details names it.',
  },
  idempotency_key_invalid: {
    status: 400,
    message: 'The Idempotency-Key must be 1 to 255 visible ASCII characters.',
    action: 'Send a key without spaces, such as a UUID, or none.',
  },
} as const satisfies Record<string, RefusalRow>;
