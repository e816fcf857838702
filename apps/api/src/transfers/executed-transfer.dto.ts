import type { ExecutedTransfer, Transfer } from '@banking/domain';
import { AccountDto, BalanceDto } from '../accounts/account.dto.js';
import { AmountField, EdgeField, Field, IdField, Ours, TextField, TimeField } from '../http/field.decorator.js';
import { RecipientDto } from '../recipients/recipient.dto.js';

/** What a transfer says of itself, wherever it stands. @param mark where its fields come from */
const fieldsOf = (mark: PropertyDecorator) => {
  class TransferFields {
    @mark
    @IdField('The transfer.', 26)
    readonly id!: Transfer['id'];

    @mark
    @AmountField('Digits in minor units of the account\'s currency: `"1875000"` in EUR is 18750.00.', '1875000')
    readonly amount!: Transfer['amount'];

    @mark
    @TextField('Description.', 'Float for Berlin', false)
    readonly description?: string;

    @mark
    @Field('stated', { type: 'string', enum: ['debit', 'credit'], description: '`debit`: money left the account. `credit`: it arrived.', example: 'debit', required: false }) // prettier-ignore
    readonly direction?: NonNullable<Transfer['direction']>;

    @mark
    @TextField(
      '`spot` where a conversion took place; `internal`, `payout`, `funding`, `return`, `fee`. More may come.',
      'payout',
      false,
    )
    readonly type?: NonNullable<Transfer['type']>;

    @mark
    @TextField('Purpose code as it was sent.', 'IR001', false)
    readonly purpose?: string;

    @mark
    @AmountField('Fee charged, in the same units. The fee is a transfer of its own; here it is repeated for display.', '1250', false) // prettier-ignore
    readonly feeAmount?: NonNullable<Transfer['feeAmount']>;

    @mark
    @TimeField('When it was booked.')
    readonly createdAt?: NonNullable<Transfer['createdAt']>;

    @mark
    @TimeField('The same: a transfer does not change.')
    readonly updatedAt?: NonNullable<Transfer['updatedAt']>;
  }
  return TransferFields;
};

/** What a transfer leads to, wherever it stands. @param mark as above */
const edgesOf = (mark: PropertyDecorator) => {
  class TransferEdges {
    @mark
    @EdgeField(() => AccountDto, 'Account of the transfer.', false)
    readonly account?: AccountDto;

    @mark
    @EdgeField(() => BalanceDto, 'The balance this transfer left behind.', false)
    readonly balance?: BalanceDto;

    @mark
    @EdgeField(() => RecipientDto, 'Who is paid.', false)
    readonly recipient?: RecipientDto;
  }
  return TransferEdges;
};

const stated: PropertyDecorator = () => undefined;

export const TransferFieldsDto = fieldsOf(stated);
export const TransferFieldsEdgesDto = edgesOf(stated);

class ExecutedTransferEdgesDto extends edgesOf(Ours()) {}

/**
 * A transfer inside its transaction: without its own `edges.transaction`, so that nesting ends. The published interface does not show
 * the layout of these.
 */
export class ExecutedTransferDto extends fieldsOf(Ours()) implements ExecutedTransfer {
  @Ours()
  @EdgeField(() => ExecutedTransferEdgesDto, 'Related records.')
  readonly edges!: ExecutedTransferEdgesDto;
}
