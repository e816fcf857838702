import { Body, Controller, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type Account, type AccountId, type RequestOptions } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../access/operation.decorator.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { bodyPipe, queryPipe } from '../input/input.pipe.js';
import { PageQueryDto, sendPage } from '../input/page.js';
import * as docs from './accounts.docs.js';
import { AccountChangeDto, OpenAccountInputDto } from './account-input.dto.js';
import { AccountDto } from './account.dto.js';

@ApiTags('Accounts')
@Controller('accounts')
export class AccountsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listAccounts', docs.listAccounts)
  @ApiOkResponse({ description: 'A page of accounts.', type: [AccountDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: PageQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listAccounts(caller, query));
  }

  @Get(':accountId')
  @Operation('getAccount', docs.getAccount)
  @ApiIdParam(...docs.ACCOUNT_ID)
  @ApiOkResponse({ description: 'The account.', type: AccountDto })
  get(@CalledBy() caller: Caller, @Param('accountId', IdPipe) accountId: AccountId): Promise<Account> {
    return this.banking.getAccount(caller, { accountId });
  }

  @Post()
  @Operation('openAccount', docs.openAccount)
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
  @Operation('changeAccount', docs.changeAccount)
  @ApiIdParam(...docs.ACCOUNT_ID)
  @ApiOkResponse({ description: 'The changed account.', type: AccountDto })
  change(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Body(bodyPipe) change: AccountChangeDto,
  ): Promise<Account> {
    return this.banking.changeAccount(caller, { ...change, accountId });
  }
}
