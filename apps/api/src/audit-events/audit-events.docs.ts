import { ApiOkResponse, getSchemaPath } from '@nestjs/swagger';
import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';
import { AuditEventDto } from './audit-event.dto.js';

/** The media types of the list, the default first. */
export const AUDIT_TYPES = ['application/json', 'text/csv'] as const;

export const listAuditEvents: OperationText = {
  summary: 'List the audit trail',
  description: paragraphs(
    'Lists who changed what in the workspace, newest first: users, operators, the payment network, the service itself.',
    'An entry appears within a few seconds after its change. It is listed if it matches all filters.',
    '',
    '`hash` covers the entry and the hash before it, so a changed or missing entry breaks the chain.',
    'The operator of the service verifies the chain, and can sign its last hash.',
    'A gateway whose upstream has no audit trail responds with 404 `route_not_found`.',
    '',
    '**A table:** with `Accept: text/csv` the response is a table for a spreadsheet, in UTF-8 with a byte order mark.',
    'Every page begins with the row of column names. A text that a spreadsheet could read as a formula begins with an apostrophe.',
    'Errors are always JSON.',
  ),
  provenance: 'ours',
  refusals: ['parameter_invalid', 'id_malformed', 'timestamp_invalid'],
  isPaged: true,
  mediaTypes: AUDIT_TYPES,
};

export const AuditEventsResponse = (): MethodDecorator =>
  ApiOkResponse({
    description: 'A page of the audit trail.',
    headers: {
      'Content-Disposition': {
        description: 'The file name of a table.',
        schema: { type: 'string', example: 'attachment; filename="audit-events.csv"' },
      },
    },
    content: {
      'application/json': { schema: { type: 'array', items: { $ref: getSchemaPath(AuditEventDto) } } },
      'text/csv': { schema: { type: 'string' } },
    },
  });
