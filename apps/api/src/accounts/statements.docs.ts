import { ApiOkResponse, getSchemaPath } from '@nestjs/swagger';
import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';
import { StatementDto } from './statement.dto.js';

/** The media types of a statement, the default first. */
export const STATEMENT_TYPES = ['application/json', 'text/csv'] as const;

export const getStatement: OperationText = {
  summary: 'Retrieve a statement',
  description: paragraphs(
    'Returns the movements of an account in a period, with the opening balance, the balance after each movement, and the closing balance.',
    'Between two instants, the statement contains the movements booked in the period.',
    'Between two days, it contains the movements with a value date in the period. The value date is the day of booking, in UTC.',
    'The period includes `from` and excludes `to`, so the closing balance of a period is the opening balance of the next one.',
    'A disabled account has statements too.',
    '',
    'As JSON, a statement with more movements than `limit` is returned in pages, and `Link` leads to the next page.',
    'Every page has the opening and the closing balance of the whole statement, and `balanceAfter` continues from page to page.',
    'Movements booked after the first page was read are on none of the pages.',
    '',
    '**A table:** with `Accept: text/csv` the response is a table for a spreadsheet, in UTF-8 with a byte order mark.',
    'It has one opening row, one row for each movement, and one closing row.',
    '`amount` is signed, in whole units with the decimals of the currency, and adds up to the last `balance`.',
    'Another column has the same amount in minor units.',
    'A table has no pages: it is the whole statement as of its first row, and `limit` and `cursor` are refused.',
    'It is sent while it is read. A table without the closing row is incomplete: request it again.',
    'A text that a spreadsheet could read as a formula begins with an apostrophe: request JSON to read the text unchanged.',
    'Errors are always JSON.',
  ),
  provenance: 'ours',
  refusals: ['id_malformed', 'timestamp_invalid', 'account_not_found'],
  isPaged: true,
  mediaTypes: STATEMENT_TYPES,
  tableType: 'text/csv',
};

export const StatementResponse = (): MethodDecorator =>
  ApiOkResponse({
    description: 'The statement.',
    headers: {
      'Content-Disposition': {
        description: 'The file name of a table.',
        schema: {
          type: 'string',
          example: 'attachment; filename="statement-BA0500000000001001-2026-11-01-2026-12-01.csv"',
        },
      },
    },
    content: {
      'application/json': { schema: { $ref: getSchemaPath(StatementDto) } },
      'text/csv': { schema: { type: 'string' } },
    },
  });
