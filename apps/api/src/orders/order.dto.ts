import type { Execution, Order } from '@banking/domain';
import { AccountDto } from '../accounts/account.dto.js';
import {
  AmountField,
  EdgeField,
  Field,
  IdField,
  KnownValues,
  Ours,
  TextField,
  TimeField,
} from '../http/field.decorator.js';
import { RecipientDto } from '../recipients/recipient.dto.js';
import { TransactionDto } from '../transfers/transaction.dto.js';

class ExecutionEdgesDto {
  @Ours()
  @EdgeField(() => TransactionDto, 'The transaction it made, once it has run.', false)
  readonly transaction?: TransactionDto;
}

class ExecutionDto implements Execution {
  @Ours()
  @IdField('The execution.', 1)
  readonly id!: Execution['id'];

  @Field('ours', { type: 'integer', minimum: 1, description: 'Which run of the order it is: 1 for the first. A run that was missed keeps its number, so numbers may have gaps.', example: 1 }) // prettier-ignore
  readonly sequence!: number;

  @Ours()
  @TextField('`scheduled`; `pending` while its transaction is; `completed`, `failed` or `cancelled`.', 'completed')
  readonly status!: Execution['status'];

  @Ours()
  @TimeField('When it is or was due.')
  readonly scheduledAt?: NonNullable<Execution['scheduledAt']>;

  @Ours()
  @TimeField('When the money moved.')
  readonly executedAt?: NonNullable<Execution['executedAt']>;

  @Field('ours', { type: 'string', description: 'Why it has failed: a `reason` of the table of errors, or `payout_rejected`.', example: 'insufficient_funds', required: false }) // prettier-ignore
  readonly failureCode?: string;

  @Field('ours', { type: 'string', description: 'The same for people.', example: 'The account does not hold the amount.', required: false }) // prettier-ignore
  readonly failureMessage?: string;

  @Ours()
  @EdgeField(() => ExecutionEdgesDto, 'Related records.')
  readonly edges!: ExecutionEdgesDto;
}

class OrderEdgesDto {
  @Ours()
  @EdgeField(() => AccountDto, 'The account that pays.', false)
  readonly account?: AccountDto;

  @Ours()
  @EdgeField(() => RecipientDto, 'Who is paid.', false)
  readonly recipient?: RecipientDto;

  @EdgeField(() => [ExecutionDto], 'Its runs, in the order of their sequence: a page of a single order\'s, the latest ten of each on a list.', false) // prettier-ignore
  readonly executions?: readonly ExecutionDto[];
}

export class OrderDto implements Order {
  @Ours()
  @IdField('The order.', 1)
  readonly id!: Order['id'];

  @Ours()
  @AmountField("Of each run, without the fee: digits in minor units of the account's currency.", '250000')
  readonly amount!: Order['amount'];

  @Ours()
  @TextField(
    '`active` while something is left to run; then `completed`, `cancelled` or `failed`, for good. What became of the money, its transaction says.',
    'completed',
  )
  readonly status!: Order['status'];

  @Ours()
  @TextField('`instant`, `scheduled` or `recurring`.', 'instant')
  readonly type!: Order['type'];

  @Ours()
  @TextField('Description.', 'Family support', false)
  readonly description?: string;

  @KnownValues()
  @TextField('Purpose code as it was sent.', 'IR002', false)
  readonly purposeCode?: string;

  @Ours()
  @TextField('`daily`, `weekly` or `monthly`, where the order recurs.', 'monthly', false)
  readonly repeatUnit?: NonNullable<Order['repeatUnit']>;

  @Field('ours', { type: 'integer', minimum: 1, maximum: 366, description: 'How many of those lie between two runs.', example: 1, required: false }) // prettier-ignore
  readonly repeatValue?: number;

  @Ours()
  @TimeField('The first run, where it was given.')
  readonly startAt?: NonNullable<Order['startAt']>;

  @Ours()
  @TimeField('No run is after it.')
  readonly stopAt?: NonNullable<Order['stopAt']>;

  @Ours()
  @TimeField(
    'Since when it is paused: it stays `active` and does not run until an administrator of the workspace or the bank resumes it. It can be cancelled.',
  )
  readonly pausedAt?: NonNullable<Order['pausedAt']>;

  @Field('ours', { type: 'string', description: 'Why it is paused. `payouts_rejected`: three of its payouts in a row were rejected. `placer_without_role`: the user who placed it has no role in the workspace.', example: 'payouts_rejected', required: false }) // prettier-ignore
  readonly pauseReason?: NonNullable<Order['pauseReason']>;

  @Field('ours', { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'The quote it was placed at.', example: 1, required: false }) // prettier-ignore
  readonly quoteID?: NonNullable<Order['quoteID']>;

  @Field('ours', { type: 'string', description: 'Your own name of the order.', example: 'FAMILY-1', required: false })
  readonly externalReference?: string;

  @Field('ours', { type: 'object', additionalProperties: { type: 'string' }, description: 'Pairs of your own.', example: { department: 'purchasing' }, required: [], selfRequired: false } as never) // prettier-ignore
  readonly metadata?: Readonly<Record<string, string>>;

  @Ours()
  @TimeField('When it was placed.')
  readonly createdAt?: NonNullable<Order['createdAt']>;

  @Ours()
  @TimeField('When its status last changed.')
  readonly updatedAt?: NonNullable<Order['updatedAt']>;

  @EdgeField(() => OrderEdgesDto, 'Related records.')
  readonly edges!: OrderEdgesDto;
}
