import type { Movement, Statement, StatementAccount, StatementQuery } from '@banking/domain';
import { Field, OwnAmountField, OwnEdgeField, OwnIdField, OwnTextField } from '../http/field.decorator.js';
import { PageQueryDto } from '../input/page.js';
import { InstantOrDayParameter } from '../input/parameter.decorator.js';
import { CurrencyDto } from '../products/product.dto.js';

const BalanceField = (description: string, example: number): PropertyDecorator =>
  Field('ours', {
    type: 'integer',
    format: 'int64',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    description,
    example,
  });

class StatementAccountEdgesDto {
  @OwnEdgeField(() => CurrencyDto, 'The one currency the account holds.')
  readonly currency!: CurrencyDto;
}

export class StatementAccountDto implements StatementAccount {
  @OwnIdField('The account.', 2)
  readonly id!: StatementAccount['id'];

  @OwnTextField('Name of the account holder.', 'Northwind Trading')
  readonly name!: string;

  @OwnTextField('Nickname.', 'European suppliers', false)
  readonly alias?: string;

  @OwnTextField('Account code in the core banking system.', 'NW0000000002', false)
  readonly code?: string;

  @OwnEdgeField(() => StatementAccountEdgesDto, 'Related records.')
  readonly edges!: StatementAccountEdgesDto;
}

class MovementDto implements Movement {
  @OwnIdField('The transfer.', 26)
  readonly id!: Movement['id'];

  @OwnIdField('The transaction that executed it.', 9)
  readonly transactionID!: Movement['transactionID'];

  @OwnIdField('The order of the transaction. A return has none.', 1, false)
  readonly orderID?: NonNullable<Movement['orderID']>;

  @OwnIdField('The reversed transaction, a payment or a return.', 11, false)
  readonly returnOf?: NonNullable<Movement['returnOf']>;

  @OwnIdField('The return that reverses the transaction.', 12, false)
  readonly returnedBy?: NonNullable<Movement['returnedBy']>;

  @Field('ours', {
    type: 'string',
    enum: ['debit', 'credit'],
    description: '`debit`: money left the account. `credit`: it arrived.',
    example: 'debit',
  })
  readonly direction!: Movement['direction'];

  @OwnAmountField('Digits in minor units of the currency; `direction` is the sign.', '1875000')
  readonly amount!: Movement['amount'];

  @OwnTextField(
    'Type of the transfer: `spot`, `internal`, `payout`, `funding`, `return`, `fee`. More types may be added.',
    'payout',
  )
  readonly type!: Movement['type'];

  @OwnTextField('Description.', 'Float for Berlin', false)
  readonly description?: string;

  @OwnTextField('Purpose code as it was sent.', 'IR001', false)
  readonly purpose?: string;

  @OwnAmountField('Fee charged. The fee is a movement of its own and repeated here for display.', '1250', false)
  readonly feeAmount?: NonNullable<Movement['feeAmount']>;

  @OwnTextField('Name of the recipient.', 'Northwind Trading Berlin', false)
  readonly recipientName?: string;

  @Field('ours', { type: 'string', format: 'date', description: 'Value date.', example: '2026-11-21' })
  readonly valueDate!: string;

  @Field('ours', {
    type: 'string',
    format: 'date-time',
    description: 'Time of booking. RFC 3339 in UTC, three to nine fractional digits.',
    example: '2026-11-21T09:30:00.123456Z',
  })
  readonly createdAt!: Movement['createdAt'];

  @BalanceField('The balance after this movement, in the order of this statement.', 46125000)
  readonly balanceAfter!: Movement['balanceAfter'];
}

class StatementEdgesDto {
  @OwnEdgeField(() => StatementAccountDto, 'The account, without its current balance.')
  readonly account!: StatementAccountDto;
}

export class StatementDto implements Statement {
  @OwnTextField('Begin of the period, inclusive, as requested.', '2026-11-01')
  readonly from!: string;

  @OwnTextField('End of the period, exclusive, as requested.', '2026-12-01')
  readonly to!: string;

  @Field('ours', {
    type: 'string',
    enum: ['booking', 'valueDate'],
    description: '`booking` for a period between instants, `valueDate` for a period between days.',
    example: 'valueDate',
  })
  readonly basis!: Statement['basis'];

  @BalanceField('Balance before the first movement: an integer in minor units of the currency.', 0)
  readonly openingBalance!: Statement['openingBalance'];

  @BalanceField('Balance after the last movement, in the same units: `openingBalance` plus the movements.', 45801250)
  readonly closingBalance!: Statement['closingBalance'];

  @Field('ours', {
    type: () => [MovementDto],
    description: 'Oldest first, in the order of booking.',
  })
  readonly movements!: readonly MovementDto[];

  @OwnEdgeField(() => StatementEdgesDto, 'Related records.')
  readonly edges!: StatementEdgesDto;
}

export class StatementQueryDto extends PageQueryDto implements Omit<StatementQuery, 'accountId'> {
  @InstantOrDayParameter(
    'ours',
    'Begin of the period, inclusive: an instant (RFC 3339 with an offset) for a statement by booking, a day (`2026-11-01`) by value date.',
  )
  readonly from!: string;

  @InstantOrDayParameter('ours', 'End of the period, exclusive: an instant or a day like `from`, and not earlier.')
  readonly to!: string;
}
