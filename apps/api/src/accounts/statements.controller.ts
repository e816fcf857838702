import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type AccountId, type Statement } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { preferredType } from '../http/accept.js';
import { CSV_TYPE } from '../http/csv.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../access/operation.decorator.js';
import { queryPipe } from '../input/input.pipe.js';
import { linkNext } from '../input/page.js';
import { ACCOUNT_ID } from './accounts.docs.js';
import * as docs from './statements.docs.js';
import { statementCsv, statementFileName } from './statement-csv.js';
import { StatementQueryDto } from './statement-query.dto.js';
import { StatementDto } from './statement.dto.js';

@ApiTags('Accounts')
@Controller('accounts')
export class StatementsController {
  constructor(private readonly banking: BankingService) {}

  @Get(':accountId/statement')
  @Operation('getStatement', docs.getStatement)
  @ApiIdParam(...ACCOUNT_ID)
  @ApiExtraModels(StatementDto)
  @docs.StatementResponse()
  async get(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Query(queryPipe) query: StatementQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Statement | string> {
    const { next, ...statement } = await this.banking.getStatement(caller, { accountId, ...query });
    const isTable = preferredType(reply.request.headers.accept, docs.STATEMENT_TYPES) === 'text/csv';
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
