import { Body, Controller, HttpCode, Module, Param, Post, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  type AccountId,
  type AddTransactionEventInput,
  BankingService,
  type ClockChange,
  type FundAccountInput,
  type RequestOptions,
  type SandboxClock,
  type TransactionId,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { OwnTimeField } from '../http/field.decorator.js';
import { ApiIdParam, bodyPipe, IdPipe } from '../input/input.pipe.js';
import {
  AmountBodyField,
  CodeField,
  RequiredChoiceField,
  RequiredInstantField,
} from '../input/body-field.decorator.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { TransactionDto } from '../transactions/transaction.dto.js';
import { TransferDto } from '../transfers/transfer.dto.js';

class ClockChangeDto implements ClockChange {
  @RequiredInstantField(
    'ours',
    'The new time of the workspace: not before its current time, and at most 100 years ahead.',
    '2060-01-31T09:00:00Z',
  )
  readonly now!: ClockChange['now'];
}

class SandboxClockDto implements SandboxClock {
  @OwnTimeField('The time of the workspace. It stands still until the real time is later.', true)
  readonly now!: SandboxClock['now'];
}

class FundAccountInputDto implements Omit<FundAccountInput, 'accountId'> {
  @AmountBodyField(
    'ours',
    'The amount that arrives: digits in minor units of the currency of the account. `"1000000"` in GBP is 10000.00, in JPY 1000000.',
    '1000000',
  )
  readonly amount!: FundAccountInput['amount'];
}

class AddTransactionEventInputDto implements Omit<AddTransactionEventInput, 'transactionId'> {
  @RequiredChoiceField(
    'ours',
    ['RJCT', 'ACCC', 'ACSP'],
    'Payment status of ISO 20022: `ACSP` on its way, `ACCC` credited to the beneficiary, `RJCT` rejected.',
  )
  readonly status!: AddTransactionEventInput['status'];

  @CodeField('ours', 35, 'The reason code of the network, such as `AC04`: the account is closed.', 'AC04')
  readonly reasonCode?: NonNullable<AddTransactionEventInput['reasonCode']>;
}

const ACCOUNT_ID = ['accountId', 'An account of the workspace.'] as const;
const TRANSACTION_ID = [
  'transactionId',
  'A transaction of the workspace that pays a recipient at another institution.',
] as const;

const SANDBOX_ONLY =
  '**Sandbox only:** a deployment with real money responds with 404 `route_not_found`, and its document omits this operation.';

/** Operations that create money or replace the network. A deployment with real money does not have them. */
@ApiTags('Sandbox')
@Controller('sandbox')
class SandboxController {
  constructor(private readonly banking: BankingService) {}

  @Post('accounts/:accountId/fundings')
  @Operation('fundAccount', {
    summary: 'Fund an account',
    description: paragraphs(
      'Books money that arrives from outside: a transfer of type `funding`, completed at once, without a fee and without a purpose.',
      '',
      SANDBOX_ONLY,
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...ACCOUNT_ID)
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
  @Operation('addTransactionEvent', {
    summary: 'Add a tracking event',
    description: paragraphs(
      'Records a tracking event of a payment abroad, as if the network had sent it now, and applies it.',
      '`ACCC` completes the transaction. `RJCT` fails it, and the full amount returns in a new transaction.',
      'The response is the updated transaction, and `Location` is its path.',
      'An event of a completed or failed transaction is recorded without effect.',
      '',
      SANDBOX_ONLY,
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...TRANSACTION_ID)
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
  @Operation('moveClock', {
    summary: 'Move the clock',
    description: paragraphs(
      'Moves the time by which the orders of the workspace run. The clock moves forward only, and other workspaces keep theirs.',
      'Executions that are due by then run at once, and the missed runs of a recurring order run once.',
      'New orders must start after that time. The clock stands still until the real time is later.',
      '',
      'The real time still applies to everything else: the expiry of quotes and of an `Idempotency-Key`,',
      'the events of the network, and the times and value dates of bookings.',
      '',
      SANDBOX_ONLY,
    ),
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'The time of the workspace.', type: SandboxClockDto })
  moveClock(@CalledBy() caller: Caller, @Body(bodyPipe) change: ClockChangeDto): Promise<SandboxClock> {
    return this.banking.moveClock(caller, change);
  }
}

@Module({ controllers: [SandboxController] })
export class SandboxModule {}
