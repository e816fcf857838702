import type { Readable } from 'node:stream';
import { Body, Controller, Get, Module, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtraModels, ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  type Account,
  type AccountId,
  BankingService,
  LIMIT_MAX,
  type ReceivingDetails,
  type RequestOptions,
  type Statement,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { preferredType } from '../http/request-head.js';
import { CSV_TYPE } from '../http/csv.js';
import { ApiIdParam, bodyPipe, IdPipe, queryPipe, refusalOf } from '../input/input.pipe.js';
import { PagedReads, PagedReadsModule } from '../http/paged-reads.js';
import { textStream } from '../http/text-stream.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { linkNext, PageQueryDto, sendPage } from '../input/page.js';
import { AccountChangeDto, AccountDto, OpenAccountInputDto, ReceivingDetailsDto } from './account.dto.js';
import { statementCamt, XML_TYPE } from './statement-camt.js';
import { statementCsv } from './statement-csv.js';
import { type PagePlace, statementFile, statementFileName, StatementDownloads } from './statement-file.js';
import { StatementDto, StatementQueryDto } from './statement.dto.js';

const ACCOUNT_ID = ['accountId', 'An account of the workspace.'] as const;

/** The media types of a statement, the default first. */
const STATEMENT_TYPES = ['application/json', 'text/csv', 'application/xml'] as const;

const StatementResponse = (): MethodDecorator =>
  ApiOkResponse({
    description: 'The statement.',
    headers: {
      'Content-Disposition': {
        description: 'The file name of a table or of a camt.053 message.',
        schema: {
          type: 'string',
          example: 'attachment; filename="statement-BA0500000000001001-2026-11-01-2026-12-01.csv"',
        },
      },
    },
    content: {
      'application/json': { schema: { $ref: getSchemaPath(StatementDto) } },
      'text/csv': { schema: { type: 'string' } },
      'application/xml': { schema: { type: 'string' } },
    },
  });

@ApiTags('Accounts')
@Controller('accounts')
class AccountsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listAccounts', {
    summary: 'List accounts',
    description: 'Lists the accounts of the workspace, newest first, each with its balance.',
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'A page of accounts.', type: [AccountDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: PageQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listAccounts(caller, query));
  }

  @Get(':accountId')
  @Operation('getAccount', {
    summary: 'Retrieve an account',
    description: paragraphs(
      'Returns one account with its latest balance.',
      'The whole balance can be spent: a payment in progress has already left it.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...ACCOUNT_ID)
  @ApiOkResponse({ description: 'The account.', type: AccountDto })
  get(@CalledBy() caller: Caller, @Param('accountId', IdPipe) accountId: AccountId): Promise<Account> {
    return this.banking.getAccount(caller, { accountId });
  }

  @Get(':accountId/receiving-details')
  @Operation('listReceivingDetails', {
    summary: 'List receiving details',
    description: paragraphs(
      'Returns what a payer writes so that money arrives on the account: one record for each bank account of the service in the currency',
      'of the account. The list is empty where the service receives no money in that currency.',
      '',
      'The payer writes `reference` as the structured creditor reference or into the text of the payment.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...ACCOUNT_ID)
  @ApiOkResponse({ description: 'The details, in the order of preference.', type: [ReceivingDetailsDto] })
  receivingDetails(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
  ): Promise<readonly ReceivingDetails[]> {
    return this.banking.listReceivingDetails(caller, { accountId });
  }

  @Post()
  @Operation('openAccount', {
    summary: 'Open an account',
    description: paragraphs(
      'Opens an account from a product, in the currency of the product, with a balance of zero.',
      'Other workspaces pay to its `code`.',
    ),
    provenance: 'ours',
  })
  @ApiCreatedResponse({ description: 'The new account.', type: AccountDto })
  async open(
    @CalledBy() caller: Caller,
    @Body(bodyPipe) input: OpenAccountInputDto,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendCreated(reply, '/accounts', await this.banking.openAccount(caller, input, options));
  }

  @Patch(':accountId')
  @Operation('changeAccount', {
    summary: 'Rename, disable or enable an account',
    description: paragraphs(
      'Changes the alias of an account, disables it, or enables it again. Omitted fields stay unchanged.',
      'The service records who changed what, and when.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...ACCOUNT_ID)
  @ApiOkResponse({ description: 'The changed account.', type: AccountDto })
  change(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Body(bodyPipe) change: AccountChangeDto,
  ): Promise<Account> {
    return this.banking.changeAccount(caller, { ...change, accountId });
  }
}

@ApiTags('Accounts')
@Controller('accounts')
class StatementsController {
  constructor(
    private readonly banking: BankingService,
    private readonly downloads: StatementDownloads,
    private readonly reads: PagedReads,
  ) {}

  @Get(':accountId/statement')
  @Operation('getStatement', {
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
      'A table without the closing row is incomplete: request it again.',
      'A text that a spreadsheet could read as a formula begins with an apostrophe: request JSON to read the text unchanged.',
      '',
      '**A camt.053 message:** with `Accept: application/xml` the response is a statement of ISO 20022, `camt.053.001.08`.',
      '`NtryRef` is the id of the transfer, `AcctSvcrRef` that of its transaction, and `BkTxCd/Prtry` has its type. A fee is an entry of its own.',
      'Of a period of days, the closing balance `CLBD` is that of the last day. Until the period has ended, it is an interim balance, `ITBD`.',
      '',
      'A table and a message have no pages: each is the whole statement, and `limit` and `cursor` are refused. They are sent while they are read.',
      'Errors are always JSON.',
    ),
    provenance: 'ours',
    mediaTypes: STATEMENT_TYPES,
    wholeTypes: ['text/csv', 'application/xml'],
  })
  @ApiIdParam(...ACCOUNT_ID)
  @ApiExtraModels(StatementDto)
  @StatementResponse()
  async get(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Query(queryPipe) query: StatementQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Statement | Readable> {
    const { headers, method } = reply.request;
    const type = statementType(headers.accept);
    if (type !== 'text/csv' && type !== 'application/xml') {
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
    const createdAt = new Date().toISOString();
    const [write, contentType, extension] =
      type === 'text/csv'
        ? ([statementCsv, CSV_TYPE, 'csv'] as const)
        : ([(page: Statement, place: PagePlace) => statementCamt(page, place, createdAt), XML_TYPE, 'xml'] as const);
    const file = await textStream(statementFile(first, pageAfter, write), method !== 'HEAD');
    reply.headers({
      'content-type': contentType,
      'content-disposition': `attachment; filename="${statementFileName(first, extension)}"`,
    });
    return file;
  }
}

/** Browsers accept XML as a form of HTML. They get JSON. */
function statementType(accept: string | undefined): (typeof STATEMENT_TYPES)[number] | undefined {
  const type = preferredType(accept, STATEMENT_TYPES);
  return type === 'application/xml' && /\bhtml\b/i.test(accept ?? '') ? 'application/json' : type;
}

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
function refusePages({ limit, cursor }: StatementQueryDto): void {
  const details = [
    ...(limit === undefined ? [] : [{ path: 'limit', reason: 'limit_invalid' as const }]),
    ...(cursor === undefined ? [] : [{ path: 'cursor', reason: 'cursor_invalid' as const }]),
  ].map(({ path, reason }) => ({ path, reason, message: `${path} must be left out: a file has no pages.` }));
  if (details.length > 0) throw refusalOf(details, 'cursor_invalid');
}

@Module({
  imports: [PagedReadsModule],
  controllers: [AccountsController, StatementsController],
  providers: [StatementDownloads],
})
export class AccountsModule {}
