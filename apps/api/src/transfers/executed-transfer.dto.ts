import type { ExecutedTransfer, Transfer } from '@banking/domain';
import { AccountDto, BalanceDto } from '../accounts/account.dto.js';
import { AmountField, EdgeField, Field, IdField, TextField, TimeField } from '../http/field.decorator.js';
import { RecipientDto } from '../recipients/recipient.dto.js';

/** What a transfer says of itself, wherever it stands. */
export class TransferFieldsDto {
  @IdField('The transfer.', 17)
  readonly id!: Transfer['id'];

  @AmountField('Digits in minor units of the account\'s currency: `"1875000"` in EUR is 18750.00.', '1875000')
  readonly amount!: Transfer['amount'];

  @TextField('Description.', 'Float for Berlin', false)
  readonly description?: string;

  @Field('stated', { type: 'string', enum: ['debit', 'credit'], description: '`debit`: money left the account. `credit`: it arrived.', example: 'debit', required: false }) // prettier-ignore
  readonly direction?: NonNullable<Transfer['direction']>;

  @TextField(
    '`spot` where a conversion took place; `internal`, `payout`, `funding`, `return`, `fee`. More may come.',
    'payout',
    false,
  )
  readonly type?: NonNullable<Transfer['type']>;

  @TextField('Purpose code as it was sent.', 'IR001', false)
  readonly purpose?: string;

  @AmountField('Fee charged, in the same units. The fee is a transfer of its own; here it is repeated for display.', '1250', false) // prettier-ignore
  readonly feeAmount?: NonNullable<Transfer['feeAmount']>;

  @TimeField('When it was booked.')
  readonly createdAt?: NonNullable<Transfer['createdAt']>;

  @TimeField('The same: a transfer does not change.')
  readonly updatedAt?: NonNullable<Transfer['updatedAt']>;
}

export class ExecutedTransferEdgesDto {
  @EdgeField(() => AccountDto, 'Account of the transfer.', false)
  readonly account?: AccountDto;

  @EdgeField(() => BalanceDto, 'The balance this transfer left behind.', false)
  readonly balance?: BalanceDto;

  @EdgeField(() => RecipientDto, 'Who is paid.', false)
  readonly recipient?: RecipientDto;
}

/** A transfer inside its transaction: without its own `edges.transaction`, so that nesting ends. */
export class ExecutedTransferDto extends TransferFieldsDto implements ExecutedTransfer {
  @EdgeField(() => ExecutedTransferEdgesDto, 'Related records.')
  readonly edges!: ExecutedTransferEdgesDto;
}
