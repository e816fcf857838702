import { Body, Controller, HttpCode, Param, Post, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type AccountId, type Intent, type SandboxClock, type TransactionId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../http/operation.decorator.js';
import { IntentOf, sendCreated } from '../input/creation.js';
import { bodyPipe } from '../input/input.pipe.js';
import { TransactionDto } from '../transfers/transaction.dto.js';
import { TransferDto } from '../transfers/transfer.dto.js';
import { ClockChangeDto, SandboxClockDto } from './clock.dto.js';
import { FundingWishDto } from './funding-input.dto.js';
import { TransactionEventWishDto } from './transaction-event-input.dto.js';

const ONLY_HERE =
  '**Only in a sandbox:** a deployment in which real money moves answers 404 `route_not_found`, and its document does not have this operation.';

/** What elsewhere the world does. Not there where real money moves. */
@ApiTags('Sandbox')
@Controller('sandbox')
export class SandboxController {
  constructor(private readonly banking: BankingService) {}

  @Post('accounts/:accountId/fundings')
  @Operation('fundAccount', {
    summary: 'Fund an account',
    description: `Books money as if it had arrived from outside: a transfer of type \`funding\`, completed at once, without a fee and without a purpose.\n\n${ONLY_HERE}`,
    provenance: 'ours',
    refusals: [
      'id_malformed',
      'amount_malformed',
      'amount_out_of_range',
      'account_not_found',
      'account_disabled',
      'balance_limit_exceeded',
    ],
    body: 'creates',
    examples: [
      {
        name: 'arrived',
        summary: '1000000 JPY for the Tokyo office: yen have no decimals',
        values: { 'Workspace-ID': 1, accountId: 4, 'Idempotency-Key': 'fund-tokyo' },
        body: { amount: '1000000' },
      },
    ],
  })
  @ApiIdParam('accountId', 'An account of the workspace.')
  @ApiCreatedResponse({ description: 'The transfer, completed.', type: TransferDto })
  async fund(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Body(bodyPipe) { amount }: FundingWishDto,
    @IntentOf() intent: Intent,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendCreated(reply, '/transfers', await this.banking.fundAccount(caller, { accountId, amount }, intent));
  }

  @Post('transactions/:transactionId/events')
  @Operation('addTransactionEvent', {
    summary: 'Let the network speak',
    description: `Records a tracking event of a payment abroad as if the network had sent it just now, with all that follows: \`ACCC\` completes the transaction, \`RJCT\` fails it, and the full amount comes back as a new transaction. The answer is the transaction as it then stands, and \`Location\` is the transfer that shows it. What is said of a transaction that is completed or failed is recorded and moves nothing.\n\n${ONLY_HERE}`,
    provenance: 'ours',
    refusals: ['id_malformed', 'transaction_not_found', 'balance_limit_exceeded'],
    body: 'creates',
    examples: [
      {
        name: 'rejected',
        summary: "The beneficiary's account is closed: the money comes back",
        values: { 'Workspace-ID': 1, transactionId: 10, 'Idempotency-Key': 'closed-account' },
        body: { status: 'RJCT', reasonCode: 'AC04' },
      },
    ],
  })
  @ApiIdParam('transactionId', 'A transaction of the workspace that leaves for another institution.')
  @ApiCreatedResponse({ description: 'The transaction, with the event.', type: TransactionDto })
  async addEvent(
    @CalledBy() caller: Caller,
    @Param('transactionId', IdPipe) transactionId: TransactionId,
    @Body(bodyPipe) wish: TransactionEventWishDto,
    @IntentOf() intent: Intent,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const told = await this.banking.addTransactionEvent(caller, { ...wish, transactionId }, intent);
    return sendCreated(reply, '/transfers', told, told.resource.edges.transfers?.[0]?.id);
  }

  @Post('clock')
  @HttpCode(200)
  @Operation('moveClock', {
    summary: 'Move the clock',
    description: `Moves the time by which the orders of the workspace run, forward only, and leaves other workspaces theirs. Executions that have become due run at once; what a recurring order missed on the way runs once. New orders must start after it. The clock stands until the real time is later.\n\nEverything else keeps the real time: when a quote expires, how long an \`Idempotency-Key\` is kept, when the network speaks, and the times and value dates of what is booked.\n\n${ONLY_HERE}`,
    provenance: 'ours',
    refusals: ['timestamp_invalid', 'clock_invalid'],
    body: 'changes',
    examples: [
      {
        name: 'forward',
        summary: 'To a day in 2060',
        values: { 'Workspace-ID': 1 },
        body: { now: '2060-01-31T09:00:00Z' },
      },
    ],
  })
  @ApiOkResponse({ description: 'The time the workspace has come to.', type: SandboxClockDto })
  moveClock(@CalledBy() caller: Caller, @Body(bodyPipe) change: ClockChangeDto): Promise<SandboxClock> {
    return this.banking.moveClock(caller, change);
  }
}
