import { Body, Controller, HttpCode, Param, Post, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  BankingService,
  type AccountId,
  type RequestOptions,
  type SandboxClock,
  type TransactionId,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../access/operation.decorator.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { bodyPipe } from '../input/input.pipe.js';
import { TransactionDto } from '../transactions/transaction.dto.js';
import { TransferDto } from '../transfers/transfer.dto.js';
import * as docs from './sandbox.docs.js';
import { ClockChangeDto, SandboxClockDto } from './clock.dto.js';
import { FundAccountInputDto } from './funding-input.dto.js';
import { AddTransactionEventInputDto } from './transaction-event-input.dto.js';

/** Operations that create money or replace the network. A deployment with real money does not have them. */
@ApiTags('Sandbox')
@Controller('sandbox')
export class SandboxController {
  constructor(private readonly banking: BankingService) {}

  @Post('accounts/:accountId/fundings')
  @Operation('fundAccount', docs.fundAccount)
  @ApiIdParam(...docs.ACCOUNT_ID)
  @ApiCreatedResponse({ description: 'The completed transfer.', type: TransferDto })
  async fund(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Body(bodyPipe) { amount }: FundAccountInputDto,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendCreated(reply, '/transfers', await this.banking.fundAccount(caller, { accountId, amount }, options));
  }

  @Post('transactions/:transactionId/events')
  @Operation('addTransactionEvent', docs.addTransactionEvent)
  @ApiIdParam(...docs.TRANSACTION_ID)
  @ApiCreatedResponse({ description: 'The updated transaction.', type: TransactionDto })
  async addEvent(
    @CalledBy() caller: Caller,
    @Param('transactionId', IdPipe) transactionId: TransactionId,
    @Body(bodyPipe) input: AddTransactionEventInputDto,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const changed = await this.banking.addTransactionEvent(caller, { ...input, transactionId }, options);
    return sendCreated(reply, '/transactions', changed);
  }

  @Post('clock')
  @HttpCode(200)
  @Operation('moveClock', docs.moveClock)
  @ApiOkResponse({ description: 'The time of the workspace.', type: SandboxClockDto })
  moveClock(@CalledBy() caller: Caller, @Body(bodyPipe) change: ClockChangeDto): Promise<SandboxClock> {
    return this.banking.moveClock(caller, change);
  }
}
