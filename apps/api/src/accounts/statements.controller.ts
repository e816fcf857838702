import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Readable } from 'node:stream';
import { BankingService, LIMIT_MAX, type AccountId, type Statement } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { preferredType } from '../http/accept.js';
import { CSV_TYPE } from '../http/csv.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { PagedReads } from '../http/paged-reads.js';
import { textStream } from '../http/text-stream.js';
import { Operation } from '../access/operation.decorator.js';
import { queryPipe, refusalOf } from '../input/input.pipe.js';
import { linkNext } from '../input/page.js';
import { ACCOUNT_ID } from './accounts.docs.js';
import * as docs from './statements.docs.js';
import { statementFileName, statementTable } from './statement-csv.js';
import { StatementQueryDto } from './statement-query.dto.js';
import { StatementDto } from './statement.dto.js';
import { TableDownloads } from './table-downloads.js';

@ApiTags('Accounts')
@Controller('accounts')
export class StatementsController {
  constructor(
    private readonly banking: BankingService,
    private readonly downloads: TableDownloads,
    private readonly reads: PagedReads,
  ) {}

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
  ): Promise<Statement | Readable> {
    const { headers, method } = reply.request;
    if (preferredType(headers.accept, docs.STATEMENT_TYPES) !== 'text/csv') {
      const { next, ...statement } = await this.banking.getStatement(caller, { accountId, ...query });
      linkNext(reply, next);
      return statement;
    }
    refusePages(query);
    this.downloads.begin(caller.workspaceId, reply);
    const read = (cursor?: string) =>
      this.banking.getStatement(caller, { accountId, ...query, limit: LIMIT_MAX, cursor });
    const pageAfter = (cursor?: string) => this.reads.readPage(caller.workspaceId, reply, () => read(cursor));
    const first = await read();
    const table = await textStream(statementTable(first, pageAfter), method !== 'HEAD');
    reply.headers({
      'content-type': CSV_TYPE,
      'content-disposition': `attachment; filename="${statementFileName(first)}"`,
    });
    return table;
  }
}

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
function refusePages({ limit, cursor }: StatementQueryDto): void {
  const details = [
    ...(limit === undefined ? [] : [{ path: 'limit', reason: 'limit_invalid' as const }]),
    ...(cursor === undefined ? [] : [{ path: 'cursor', reason: 'cursor_invalid' as const }]),
  ].map(({ path, reason }) => ({ path, reason, message: `${path} must be left out: a table has no pages.` }));
  if (details.length > 0) throw refusalOf(details, 'cursor_invalid');
}
