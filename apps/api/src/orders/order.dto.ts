import {
  type Execution,
  type Order,
  ORDER_STEPS,
  type OrderQuery,
  type OrderStatements,
  type PlaceOrderInput,
  type PurposeQuery,
} from '@banking/domain';
import { AccountDto } from '../accounts/account.dto.js';
import {
  EdgeField,
  Field,
  OwnAmountField,
  OwnEdgeField,
  OwnIdField,
  OwnTextField,
  OwnTimeField,
} from '../http/field.decorator.js';
import {
  AmountBodyField,
  ChoiceField,
  IdBodyField,
  InstantBodyField,
  LineField,
  OptionalIdBodyField,
  PairsField,
  RequiredChoiceField,
  WholeNumberField,
} from '../input/body-field.decorator.js';
import { PageQueryDto } from '../input/page.js';
import {
  ChoiceParameter,
  IdParameter,
  InstantParameter,
  PatternParameter,
  TextParameter,
} from '../input/parameter.decorator.js';
import { RecipientDto } from '../recipients/recipient.dto.js';
import { TransactionDto } from '../transactions/transaction.dto.js';

class ExecutionEdgesDto {
  @OwnEdgeField(() => TransactionDto, 'The transaction of the execution, after it has run.', false)
  readonly transaction?: TransactionDto;
}

class ExecutionDto implements Execution {
  @OwnIdField('The execution.', 1)
  readonly id!: Execution['id'];

  @Field('ours', {
    type: 'integer',
    minimum: 1,
    description: 'Number of the run, from 1. A missed run keeps its number, so numbers can have gaps.',
    example: 1,
  })
  readonly sequence!: number;

  @OwnTextField(
    '`awaiting_approval`, `scheduled`, `pending` while its transaction is pending, `completed`, `failed` or `cancelled`.',
    'completed',
  )
  readonly status!: Execution['status'];

  @OwnTimeField('Due time.')
  readonly scheduledAt?: NonNullable<Execution['scheduledAt']>;

  @OwnTimeField('Time of the debit.')
  readonly executedAt?: NonNullable<Execution['executedAt']>;

  @OwnTextField(
    'Reason of the failure: a `reason` of the table of errors, `payout_rejected`, `approval_rejected` such as `limit_exceeded`, or `approval_expired`.',
    'insufficient_funds',
    false,
  )
  readonly failureCode?: string;

  @OwnTextField('The reason of the failure for people.', 'The account does not hold the amount.', false)
  readonly failureMessage?: string;

  @OwnEdgeField(() => ExecutionEdgesDto, 'Related records.')
  readonly edges!: ExecutionEdgesDto;
}

class OrderEdgesDto {
  @OwnEdgeField(() => AccountDto, 'The account that pays.', false)
  readonly account?: AccountDto;

  @OwnEdgeField(() => RecipientDto, 'The recipient.', false)
  readonly recipient?: RecipientDto;

  @EdgeField(
    () => [ExecutionDto],
    'The runs by sequence: one page for a single order, the latest ten in a list.',
    false,
  )
  readonly executions?: readonly ExecutionDto[];
}

/** What the payer states, and the order shows unchanged. */
class OrderStatementsDto implements OrderStatements {
  @LineField('ours', 512, 'Text for the recipient.', 'Family support')
  readonly description?: string;

  @LineField(
    'known',
    35,
    'A code of `GET /orders/purposes`. Required for a payment abroad, and to a country with a list of its own.',
    'IR002',
  )
  readonly purposeCode?: string;

  @WholeNumberField(
    'ours',
    { minimum: 1, maximum: 366 },
    'The number of `repeatUnit` between two runs. Only for a recurring order.',
    1,
  )
  readonly repeatValue?: number;

  @LineField('ours', 140, 'Your reference of the order. Permanently unique in the workspace.', 'FAMILY-1')
  readonly externalReference?: string;

  @PairsField(
    'ours',
    { count: 20, name: 40, value: 500 },
    'Your own pairs of name and value, returned unchanged. Names that every object has in JavaScript, such as `constructor`, are refused.',
    {
      department: 'purchasing',
    },
  )
  readonly metadata?: Readonly<Record<string, string>>;
}

export class OrderDto extends OrderStatementsDto implements Order {
  @OwnIdField('The order.', 1)
  readonly id!: Order['id'];

  @OwnAmountField(
    'The amount of each run, without the fee: digits in minor units of the currency of the account.',
    '250000',
  )
  readonly amount!: Order['amount'];

  @OwnTextField(
    '`active` while a run is left, then finally `completed`, `cancelled` or `failed`. Its transaction shows the status of the payment.',
    'completed',
  )
  readonly status!: Order['status'];

  @OwnTextField('`instant`, `scheduled` or `recurring`.', 'instant')
  readonly type!: Order['type'];

  @OwnTextField('`daily`, `weekly` or `monthly`. Only for a recurring order.', 'monthly', false)
  readonly repeatUnit?: NonNullable<Order['repeatUnit']>;

  @OwnTimeField('Time of the first run, if it was set.')
  readonly startAt?: NonNullable<Order['startAt']>;

  @OwnTimeField('No run is scheduled for later.')
  readonly stopAt?: NonNullable<Order['stopAt']>;

  @OwnTimeField(
    'Time of the pause. A paused order stays `active`, does not run until an administrator resumes it, and can be cancelled.',
  )
  readonly pausedAt?: NonNullable<Order['pausedAt']>;

  @OwnTextField(
    '`payouts_rejected`: three payouts in a row were rejected. `placer_without_role`: its placer is no member of the workspace.',
    'payouts_rejected',
    false,
  )
  readonly pauseReason?: NonNullable<Order['pauseReason']>;

  @OwnIdField('The quote of the order.', 1, false)
  readonly quoteID?: NonNullable<Order['quoteID']>;

  @OwnIdField('The approval that the order awaits, or awaited.', 1, false)
  readonly approvalID?: NonNullable<Order['approvalID']>;

  @OwnIdField(
    'The user for whom the order runs: the user who placed it, or the administrator who resumed it.',
    1,
    false,
  )
  readonly placedBy?: NonNullable<Order['placedBy']>;

  @OwnIdField('The user who cancelled the order.', 1, false)
  readonly cancelledBy?: NonNullable<Order['cancelledBy']>;

  @OwnTimeField('Time of the order.')
  readonly createdAt?: NonNullable<Order['createdAt']>;

  @OwnTimeField('Time of the last change of status.')
  readonly updatedAt?: NonNullable<Order['updatedAt']>;

  @EdgeField(() => OrderEdgesDto, 'Related records.')
  readonly edges!: OrderEdgesDto;
}

const TYPES = ['instant', 'scheduled', 'recurring'] as const;

export class PlaceOrderInputDto extends OrderStatementsDto implements Omit<PlaceOrderInput, 'accountId'> {
  @AmountBodyField(
    'ours',
    'The amount without the fee: digits in minor units of the currency of the account. `"250000"` in USD is 2500.00.',
    '250000',
  )
  readonly amount!: PlaceOrderInput['amount'];

  @IdBodyField('ours', 'A recipient of the workspace.', 2)
  readonly recipientID!: PlaceOrderInput['recipientID'];

  @RequiredChoiceField(
    'ours',
    TYPES,
    '`instant` pays now, `scheduled` once at `startAt`, `recurring` repeatedly from `startAt`.',
  )
  readonly type!: PlaceOrderInput['type'];

  @ChoiceField('ours', ['daily', 'weekly', 'monthly'], 'The unit of `repeatValue`. Only for a recurring order.')
  readonly repeatUnit?: NonNullable<PlaceOrderInput['repeatUnit']>;

  @InstantBodyField(
    'ours',
    'Time of the first run. Later runs count from its local day and time: monthly from 31 January is 28 February, then 31 March.',
    '2027-01-31T09:00:00+01:00',
  )
  readonly startAt?: string;

  @InstantBodyField(
    'ours',
    'No run is scheduled for later; a missed run is made up for. Only for a recurring order.',
    '2027-12-31T09:00:00+01:00',
  )
  readonly stopAt?: string;

  @OptionalIdBodyField(
    'ours',
    'A quote for this account, amount and recipient. Its price applies. Only for an instant order.',
    1,
  )
  readonly quoteID?: NonNullable<PlaceOrderInput['quoteID']>;
}

export class OrderQueryDto extends PageQueryDto implements OrderQuery {
  @ChoiceParameter('ours', Object.keys(ORDER_STEPS), 'Orders with this status.')
  readonly status?: NonNullable<OrderQuery['status']>;

  @ChoiceParameter('ours', TYPES, 'Orders of this type.')
  readonly type?: NonNullable<OrderQuery['type']>;

  @IdParameter('ours', 'Orders of this account.')
  readonly accountId?: NonNullable<OrderQuery['accountId']>;

  @IdParameter('ours', 'Orders to this recipient.')
  readonly recipientId?: NonNullable<OrderQuery['recipientId']>;

  @IdParameter('ours', 'Orders of this user: the `placedBy` of the order.')
  readonly placedBy?: NonNullable<OrderQuery['placedBy']>;

  @TextParameter('ours', 140, 'The order with this reference, at most one.')
  readonly externalReference?: string;

  @InstantParameter('ours', 'Placed at this instant or later.')
  readonly createdFrom?: string;

  @InstantParameter('ours', 'Placed before this instant.')
  readonly createdTo?: string;
}

export class PurposeQueryDto implements PurposeQuery {
  @PatternParameter('ours', /^[A-Za-z]{2,3}$/, 'a country code of ISO 3166-1, such as IN', {
    description: 'Country of the recipient: ISO 3166-1 alpha-2 in any case; alpha-3 is accepted too.',
  })
  readonly countryCode?: NonNullable<PurposeQuery['countryCode']>;
}
