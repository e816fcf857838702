import type { ExecutedTransfer, Transfer } from '@banking/domain';
import { AccountDto, BalanceDto } from '../accounts/account.dto.js';
import { AmountField, EdgeField, Field, IdField, Ours, TextField, TimeField } from '../http/field.decorator.js';
import { RecipientDto } from '../recipients/recipient.dto.js';

/** The fields of a transfer. @param mark their provenance */
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
    @Field('stated', {
      type: 'string',
      enum: ['debit', 'credit'],
      description: '`debit`: money left the account. `credit`: it arrived.',
      example: 'debit',
      required: false,
    })
    readonly direction?: NonNullable<Transfer['direction']>;

    @mark
    @TextField(
      '`spot` with a conversion, `internal`, `payout`, `funding`, `return` or `fee`. More types may be added.',
      'payout',
      false,
    )
    readonly type?: NonNullable<Transfer['type']>;

    @mark
    @TextField('Purpose code as it was sent.', 'IR001', false)
    readonly purpose?: string;

    @mark
    @AmountField(
      'Fee charged, in the same units. The fee is a transfer of its own and repeated here for display.',
      '1250',
      false,
    )
    readonly feeAmount?: NonNullable<Transfer['feeAmount']>;

    @mark
    @TimeField('Time of booking.')
    readonly createdAt?: NonNullable<Transfer['createdAt']>;

    @mark
    @TimeField('Equal to `createdAt`: a transfer does not change.')
    readonly updatedAt?: NonNullable<Transfer['updatedAt']>;
  }
  return TransferFields;
};

/** The related records of a transfer. @param mark their provenance */
const edgesOf = (mark: PropertyDecorator) => {
  class TransferEdges {
    @mark
    @EdgeField(() => AccountDto, 'Account of the transfer.', false)
    readonly account?: AccountDto;

    @mark
    @EdgeField(() => BalanceDto, 'The balance after this transfer.', false)
    readonly balance?: BalanceDto;

    @mark
    @EdgeField(() => RecipientDto, 'The recipient.', false)
    readonly recipient?: RecipientDto;
  }
  return TransferEdges;
};

const stated: PropertyDecorator = () => undefined;

export const TransferFieldsDto = fieldsOf(stated);
export const TransferFieldsEdgesDto = edgesOf(stated);

class ExecutedTransferEdgesDto extends edgesOf(Ours()) {}

/**
 * A transfer inside its transaction, without `edges.transaction`, so that the nesting ends. The published interface does not show its
 * layout.
 */
export class ExecutedTransferDto extends fieldsOf(Ours()) implements ExecutedTransfer {
  @Ours()
  @EdgeField(() => ExecutedTransferEdgesDto, 'Related records.')
  readonly edges!: ExecutedTransferEdgesDto;
}
