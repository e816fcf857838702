import { Body, Controller, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type Account, type AccountId, type Intent } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../http/operation.decorator.js';
import { IntentOf, sendCreated } from '../input/creation.js';
import { bodyPipe, queryPipe } from '../input/input.pipe.js';
import { PageQueryDto, sendPage } from '../input/page.js';
import { AccountChangeDto, AccountWishDto } from './account-input.dto.js';
import { AccountDto } from './account.dto.js';

@ApiTags('Accounts')
@Controller('accounts')
export class AccountsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listAccounts', {
    summary: 'List accounts',
    description: 'The accounts of the workspace, newest first, each with its balance.',
    provenance: 'ours',
    refusals: [],
    isPaged: true,
    examples: [{ name: 'newest', summary: 'The newest', values: { 'Workspace-ID': 1, limit: 1 } }],
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
    description:
      'One account with its latest balance. What may be spent is that balance and nothing else: money on its way out has left it.',
    provenance: 'ours',
    refusals: ['id_malformed', 'account_not_found'],
    examples: [
      { name: 'euro', summary: 'The account for European suppliers', values: { 'Workspace-ID': 1, accountId: 2 } },
      { name: 'disabled', summary: 'One that was disabled', values: { 'Workspace-ID': 1, accountId: 21 } },
    ],
  })
  @ApiIdParam('accountId', 'An account of the workspace.')
  @ApiOkResponse({ description: 'The account.', type: AccountDto })
  get(@CalledBy() caller: Caller, @Param('accountId', IdPipe) accountId: AccountId): Promise<Account> {
    return this.banking.getAccount(caller, { accountId });
  }

  @Post()
  @Operation('openAccount', {
    summary: 'Open an account',
    description:
      'Opens an account from a product, in its currency and with a balance of zero. Others pay to its `code`.',
    provenance: 'ours',
    refusals: ['product_not_found'],
    body: 'creates',
    examples: [
      {
        name: 'opened',
        summary: 'A second account in euros',
        values: { 'Workspace-ID': 1, 'Idempotency-Key': 'open-trade-fairs' },
        body: { productID: 2, alias: 'Trade fairs' },
      },
    ],
  })
  @ApiCreatedResponse({ description: 'The account, open.', type: AccountDto })
  async open(
    @CalledBy() caller: Caller,
    @Body(bodyPipe) wish: AccountWishDto,
    @IntentOf() intent: Intent,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendCreated(reply, '/accounts', await this.banking.openAccount(caller, wish, intent));
  }

  @Patch(':accountId')
  @Operation('changeAccount', {
    summary: 'Rename or disable an account',
    description:
      'Gives an account another alias, disables it or enables it again. What is left out stays. Who changed what and when is kept.',
    provenance: 'ours',
    refusals: ['id_malformed', 'account_not_found'],
    body: 'changes',
    examples: [
      {
        name: 'renamed',
        summary: 'Another alias',
        values: { 'Workspace-ID': 1, accountId: 3 },
        body: { alias: 'London office, rent' },
      },
    ],
  })
  @ApiIdParam('accountId', 'An account of the workspace.')
  @ApiOkResponse({ description: 'The account as it is now.', type: AccountDto })
  change(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Body(bodyPipe) change: AccountChangeDto,
  ): Promise<Account> {
    return this.banking.changeAccount(caller, { ...change, accountId });
  }
}
