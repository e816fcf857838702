import {
  type ExecutedTransfer,
  type InternationalRemittance,
  type RemittanceEvent,
  type Transaction,
  TRANSACTION_STEPS,
  type Transfer,
} from '@banking/domain';
import { AccountDto, BalanceDto } from '../accounts/account.dto.js';
import {
  AmountField,
  EdgeField,
  Field,
  IdField,
  KnownValues,
  ListedField,
  Ours,
  OwnEdgeField,
  OwnIdField,
  OwnTextField,
  TextField,
  TimeField,
} from '../http/field.decorator.js';
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
class ExecutedTransferDto extends fieldsOf(Ours()) implements ExecutedTransfer {
  @OwnEdgeField(() => ExecutedTransferEdgesDto, 'Related records.')
  readonly edges!: ExecutedTransferEdgesDto;
}

class RemittanceEventDto implements RemittanceEvent {
  @IdField('The event.', 8)
  readonly id!: RemittanceEvent['id'];

  @KnownValues()
  @TextField(
    'Payment status of ISO 20022: `ACSP` on its way, `ACCC` credited to the beneficiary, `RJCT` rejected. More values may be added.',
    'RJCT',
  )
  readonly status!: RemittanceEvent['status'];

  @TextField('The message of the provider for people.', 'The payment was rejected. The account is closed.', false)
  readonly message?: string;

  @OwnTextField('The unchanged reason code of the provider, such as `AC04`.', 'AC04', false)
  readonly reasonCode?: string;

  @TimeField('Time of recording.')
  readonly createdAt?: NonNullable<RemittanceEvent['createdAt']>;

  @TimeField('Time of the last change.')
  readonly lastUpdatedAt?: NonNullable<RemittanceEvent['lastUpdatedAt']>;
}

class RemittanceEdgesDto {
  @EdgeField(() => [RemittanceEventDto], 'Tracking events from the payment provider, oldest first.', false)
  readonly events?: readonly RemittanceEventDto[];
}

class InternationalRemittanceDto implements InternationalRemittance {
  @IdField('The remittance, by the id of its transaction.', 9)
  readonly id!: InternationalRemittance['id'];

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<InternationalRemittance['createdAt']>;

  @TimeField('Time of the last change.')
  readonly updatedAt?: NonNullable<InternationalRemittance['updatedAt']>;

  @EdgeField(() => RemittanceEdgesDto, 'Related records.')
  readonly edges!: RemittanceEdgesDto;
}

class TransactionEdgesDto {
  @EdgeField(() => InternationalRemittanceDto, 'The tracking of a payment abroad.', false)
  readonly internationalRemittance?: InternationalRemittanceDto;

  @EdgeField(() => [ExecutedTransferDto], 'The transfers of the transaction on accounts of this workspace.', false)
  readonly transfers?: readonly ExecutedTransferDto[];
}

export class TransactionDto implements Transaction {
  @IdField('The transaction.', 9)
  readonly id!: Transaction['id'];

  @ListedField(
    '`pending` until the final status: `completed` or `failed`.',
    Object.keys(TRANSACTION_STEPS),
    'completed',
  )
  readonly status!: Transaction['status'];

  @Field('known', {
    type: 'string',
    pattern: '^[0-9a-f]{64}$',
    description:
      'SHA-256 over the canonical content of the transaction (RFC 8785) and the previous hash of each of its accounts.',
    example: '3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8551',
    required: false,
  })
  readonly hash?: string;

  @OwnIdField(
    'The order of the transaction. A return has none: `returnOf` leads to the transaction with the order.',
    1,
    false,
  )
  readonly orderID?: NonNullable<Transaction['orderID']>;

  @OwnIdField('The reversed transaction, a payment or a return.', 11, false)
  readonly returnOf?: NonNullable<Transaction['returnOf']>;

  @OwnIdField('The return that reverses the transaction.', 12, false)
  readonly returnedBy?: NonNullable<Transaction['returnedBy']>;

  @TimeField('Time of booking.')
  readonly createdAt?: NonNullable<Transaction['createdAt']>;

  @TimeField('Time of the last change of status.')
  readonly updatedAt?: NonNullable<Transaction['updatedAt']>;

  @EdgeField(() => TransactionEdgesDto, 'Related records.')
  readonly edges!: TransactionEdgesDto;
}
