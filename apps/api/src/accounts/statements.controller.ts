import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type AccountId, type Statement } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { preferredType } from '../http/accept.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../http/operation.decorator.js';
import { queryPipe } from '../input/input.pipe.js';
import { linkNext } from '../input/page.js';
import { CSV_TYPE, statementCsv, statementFileName } from './statement-csv.js';
import { StatementQueryDto } from './statement-query.dto.js';
import { StatementDto } from './statement.dto.js';

const ANSWERS_IN = ['application/json', 'text/csv'] as const;

@ApiTags('Accounts')
@Controller('accounts')
export class StatementsController {
  constructor(private readonly banking: BankingService) {}

  @Get(':accountId/statement')
  @Operation('getStatement', {
    summary: 'Retrieve a statement',
    description:
      'What moved on an account in a period, with the balance before, after each movement, and at the end. Between two instants it goes by when a movement was booked, between two days by its value date; `from` belongs to the period and `to` does not. The closing balance of a period is the opening balance of the next one. A disabled account has statements too.\n\nMore than 10000 movements, or than `limit`, come in pages: follow the `Link` header to the next one. Every page has the opening and the closing balance of the whole statement, `balanceAfter` continues from page to page, and what is booked after the first page was read is on none of them. By value date, a balance beyond 2^53 - 1 is refused as `amount_out_of_range`.\n\n`Accept: text/csv` gets a table to open in a spreadsheet: UTF-8 with a byte order mark, one row to open, one for each movement, one to close. There `amount` is signed, in whole units with the decimals of the currency, and adds up to the last `balance`; the same in minor units stands beside it. A table in pages repeats the row of names on each, and has the row to open on the first page only and the row to close on the last: the pages without the repeated names are one table. A text that could be taken for a formula begins with an apostrophe: to read texts as they are, take JSON. Errors are JSON in either case.',
    provenance: 'ours',
    refusals: ['id_malformed', 'timestamp_invalid', 'account_not_found'],
    isPaged: true,
    answersIn: ANSWERS_IN,
    examples: [
      {
        name: 'booking',
        summary: 'Everything so far, as it was booked',
        values: { 'Workspace-ID': 1, accountId: 2, from: '2026-01-01T00:00:00Z', to: '2036-01-01T00:00:00Z' },
      },
      {
        name: 'before',
        summary: 'A day on which nothing had moved, by value date',
        values: { 'Workspace-ID': 1, accountId: 3, from: '2026-01-01', to: '2026-01-02' },
      },
    ],
  })
  @ApiIdParam('accountId', 'An account of the workspace.')
  @ApiExtraModels(StatementDto)
  @ApiOkResponse({
    description: 'The statement.',
    headers: {
      'Content-Disposition': {
        description: 'Of a table: that it is a file, and what to call it.',
        schema: { type: 'string', example: 'attachment; filename="statement-NW0000000002-2026-11-01-2026-12-01.csv"' },
      },
    },
    content: {
      'application/json': { schema: { $ref: getSchemaPath(StatementDto) } },
      'text/csv': { schema: { type: 'string' } },
    },
  })
  async get(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Query(queryPipe) query: StatementQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Statement | string> {
    const { next, ...statement } = await this.banking.getStatement(caller, { accountId, ...query });
    const isTable = preferredType(reply.request.headers.accept, ANSWERS_IN) === 'text/csv';
    const table =
      isTable && statementCsv(statement, { isFirst: query.cursor === undefined, isLast: next === undefined });
    linkNext(reply, next);
    if (table === false) return statement;
    reply.headers({
      'content-type': CSV_TYPE,
      'content-disposition': `attachment; filename="${statementFileName(statement)}"`,
    });
    return table;
  }
}
