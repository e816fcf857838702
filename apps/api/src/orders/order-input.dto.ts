import { ORDER_STEPS, type OrderQuery, type OrderWish } from '@banking/domain';
import { AmountBodyField, ChoiceField, IdBodyField, InstantBodyField, LineField, OptionalIdBodyField, PairsField, RequiredChoiceField, WholeNumberField } from '../input/body-field.decorator.js'; // prettier-ignore
import { PageQueryDto } from '../input/page.js';
import { ChoiceParameter, IdParameter, InstantParameter, TextParameter } from '../input/parameter.decorator.js';

const TYPES = ['instant', 'scheduled', 'recurring'] as const;

export class OrderWishDto implements Omit<OrderWish, 'accountId'> {
  @AmountBodyField('ours', 'What is paid, the fee on top: digits in minor units of the account\'s currency. `"250000"` in USD is 2500.00.', '250000') // prettier-ignore
  readonly amount!: OrderWish['amount'];

  @IdBodyField('ours', 'Who is paid: a recipient of the workspace.', 2)
  readonly recipientID!: OrderWish['recipientID'];

  @RequiredChoiceField(
    'ours',
    TYPES,
    '`instant` pays now, `scheduled` once at `startAt`, `recurring` from `startAt` on.',
  )
  readonly type!: OrderWish['type'];

  @LineField('ours', 512, 'What it is for. The recipient reads it.', 'Invoice 4711')
  readonly description?: string;

  @LineField('known', 35, 'A code of `GET /orders/purposes`. Needed to pay abroad.', 'IR001')
  readonly purposeCode?: string;

  @ChoiceField('ours', ['daily', 'weekly', 'monthly'], 'What `repeatValue` counts. Only where the order recurs.')
  readonly repeatUnit?: NonNullable<OrderWish['repeatUnit']>;

  @WholeNumberField('ours', { minimum: 1, maximum: 366 }, 'How many of those lie between two runs. Only where the order recurs.', 1) // prettier-ignore
  readonly repeatValue?: number;

  @InstantBodyField('ours', 'The first run. Its local day and time, at its offset, are what all later ones are counted from: 31 January, monthly, is 28 February and 31 March.', '2027-01-31T09:00:00+01:00') // prettier-ignore
  readonly startAt?: string;

  @InstantBodyField('ours', 'No run is after it. Only where the order recurs.', '2027-12-31T09:00:00+01:00')
  readonly stopAt?: string;

  @OptionalIdBodyField('ours', 'A quote for this account, amount and recipient, whose price is paid. Only for an instant order.', 1) // prettier-ignore
  readonly quoteID?: NonNullable<OrderWish['quoteID']>;

  @LineField('ours', 140, 'Your own name of the order, unique in the workspace for ever.', 'INV-4711')
  readonly externalReference?: string;

  @PairsField('ours', { count: 20, name: 40, value: 500 }, 'Pairs of your own, handed back as they are.', { department: 'purchasing' }) // prettier-ignore
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Which orders are wanted. All that is given must hold. */
export class OrderQueryDto extends PageQueryDto implements OrderQuery {
  @ChoiceParameter('ours', Object.keys(ORDER_STEPS), 'Orders with this status.')
  readonly status?: NonNullable<OrderQuery['status']>;

  @ChoiceParameter('ours', TYPES, 'Orders of this type.')
  readonly type?: NonNullable<OrderQuery['type']>;

  @IdParameter('ours', 'Orders of this account.')
  readonly accountId?: NonNullable<OrderQuery['accountId']>;

  @IdParameter('ours', 'Orders to this recipient.')
  readonly recipientId?: NonNullable<OrderQuery['recipientId']>;

  @TextParameter('ours', 140, 'The order with this reference: at most one.')
  readonly externalReference?: string;

  @InstantParameter('ours', 'Placed at this instant or later.')
  readonly createdFrom?: string;

  @InstantParameter('ours', 'Placed before this instant.')
  readonly createdTo?: string;
}
