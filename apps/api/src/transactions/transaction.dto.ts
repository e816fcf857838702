import {
  type InternationalRemittance,
  type RemittanceEvent,
  type Transaction,
  TRANSACTION_STEPS,
} from '@banking/domain';
import {
  EdgeField,
  Field,
  IdField,
  KnownValues,
  ListedField,
  Ours,
  TextField,
  TimeField,
} from '../http/field.decorator.js';
import { ExecutedTransferDto } from './executed-transfer.dto.js';

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

  @Field('ours', {
    type: 'string',
    description: 'The unchanged reason code of the provider, such as `AC04`.',
    example: 'AC04',
    required: false,
  })
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
  @IdField('The remittance.', 1)
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

  @Ours()
  @IdField(
    'The order of the transaction. A return has none: `returnOf` leads to the transaction with the order.',
    1,
    false,
  )
  readonly orderID?: NonNullable<Transaction['orderID']>;

  @Ours()
  @IdField('The reversed transaction, a payment or a return.', 11, false)
  readonly returnOf?: NonNullable<Transaction['returnOf']>;

  @Ours()
  @IdField('The return that reverses the transaction.', 12, false)
  readonly returnedBy?: NonNullable<Transaction['returnedBy']>;

  @TimeField('Time of booking.')
  readonly createdAt?: NonNullable<Transaction['createdAt']>;

  @TimeField('Time of the last change of status.')
  readonly updatedAt?: NonNullable<Transaction['updatedAt']>;

  @EdgeField(() => TransactionEdgesDto, 'Related records.')
  readonly edges!: TransactionEdgesDto;
}
