import { ORDER_STEPS, type OrderQuery, type PlaceOrderInput } from '@banking/domain';
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
import { ChoiceParameter, IdParameter, InstantParameter, TextParameter } from '../input/parameter.decorator.js';

const TYPES = ['instant', 'scheduled', 'recurring'] as const;

export class PlaceOrderInputDto implements Omit<PlaceOrderInput, 'accountId'> {
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

  @LineField('ours', 512, 'Text for the recipient.', 'Invoice 4711')
  readonly description?: string;

  @LineField('known', 35, 'A code of `GET /orders/purposes`. Required for a payment abroad.', 'IR001')
  readonly purposeCode?: string;

  @ChoiceField('ours', ['daily', 'weekly', 'monthly'], 'The unit of `repeatValue`. Only for a recurring order.')
  readonly repeatUnit?: NonNullable<PlaceOrderInput['repeatUnit']>;

  @WholeNumberField(
    'ours',
    { minimum: 1, maximum: 366 },
    'The number of `repeatUnit` between two runs. Only for a recurring order.',
    1,
  )
  readonly repeatValue?: number;

  @InstantBodyField(
    'ours',
    'Time of the first run. Later runs count from its local day and time: monthly from 31 January is 28 February, then 31 March.',
    '2027-01-31T09:00:00+01:00',
  )
  readonly startAt?: string;

  @InstantBodyField('ours', 'No run is later. Only for a recurring order.', '2027-12-31T09:00:00+01:00')
  readonly stopAt?: string;

  @OptionalIdBodyField(
    'ours',
    'A quote for this account, amount and recipient. Its price applies. Only for an instant order.',
    1,
  )
  readonly quoteID?: NonNullable<PlaceOrderInput['quoteID']>;

  @LineField('ours', 140, 'Your reference of the order. Permanently unique in the workspace.', 'INV-4711')
  readonly externalReference?: string;

  @PairsField('ours', { count: 20, name: 40, value: 500 }, 'Your own pairs of name and value, returned unchanged.', {
    department: 'purchasing',
  })
  readonly metadata?: Readonly<Record<string, string>>;
}

/** The filters of the list of orders. An order is listed if it matches all of them. */
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
