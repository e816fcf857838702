import type { InternationalRemittance, RemittanceEvent, Transaction } from '@banking/domain';
import { EdgeField, Field, IdField, KnownValues, Ours, TextField, TimeField } from '../http/field.decorator.js';
import { ExecutedTransferDto } from './executed-transfer.dto.js';

class RemittanceEventDto implements RemittanceEvent {
  @IdField('The event.', 8)
  readonly id!: RemittanceEvent['id'];

  @KnownValues()
  @TextField(
    'Payment status of ISO 20022: `ACSP` on its way, `ACCC` credited to the beneficiary, `RJCT` rejected. More may come.',
    'RJCT',
  )
  readonly status!: RemittanceEvent['status'];

  @TextField(
    'The same for people, as the provider wrote it.',
    'The payment was rejected. The account is closed.',
    false,
  )
  readonly message?: string;

  @Field('ours', { type: 'string', description: "The provider's reason code, raw: `G000` to `G006`, `AC04`, …", example: 'AC04', required: false }) // prettier-ignore
  readonly reasonCode?: string;

  @TimeField('When it was recorded.')
  readonly createdAt?: NonNullable<RemittanceEvent['createdAt']>;

  @TimeField('When it last changed.')
  readonly lastUpdatedAt?: NonNullable<RemittanceEvent['lastUpdatedAt']>;
}

class RemittanceEdgesDto {
  @EdgeField(() => [RemittanceEventDto], 'Tracking events from the payment provider, oldest first.', false)
  readonly events?: readonly RemittanceEventDto[];
}

class InternationalRemittanceDto implements InternationalRemittance {
  @IdField('The remittance.', 1)
  readonly id!: InternationalRemittance['id'];

  @TimeField('When it was made.')
  readonly createdAt?: NonNullable<InternationalRemittance['createdAt']>;

  @TimeField('When it last changed.')
  readonly updatedAt?: NonNullable<InternationalRemittance['updatedAt']>;

  @EdgeField(() => RemittanceEdgesDto, 'Related records.')
  readonly edges!: RemittanceEdgesDto;
}

class TransactionEdgesDto {
  @EdgeField(() => InternationalRemittanceDto, 'How a payment abroad is getting on.', false)
  readonly internationalRemittance?: InternationalRemittanceDto;

  @EdgeField(() => [ExecutedTransferDto], 'The transfers it made on accounts of this workspace.', false)
  readonly transfers?: readonly ExecutedTransferDto[];
}

export class TransactionDto implements Transaction {
  @IdField('The transaction.', 9)
  readonly id!: Transaction['id'];

  @TextField('`pending` until the last word; then `completed` or `failed`, for good.', 'completed')
  readonly status!: Transaction['status'];

  @Field('stated', {
    type: 'string',
    pattern: '^[0-9a-f]{64}$',
    description:
      'SHA-256 over the canonical content of the transaction (RFC 8785) and the previous hash of every account it touches.',
    example: '3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8551',
    required: false,
  })
  readonly hash?: string;

  @Ours()
  @IdField('The order it carries out. A return has none: `returnOf` leads to the transaction that has one.', 1, false)
  readonly orderID?: NonNullable<Transaction['orderID']>;

  @Ours()
  @IdField('The transaction that it reverses, a payment or a return.', 11, false)
  readonly returnOf?: NonNullable<Transaction['returnOf']>;

  @Ours()
  @IdField('The return that reverses it.', 12, false)
  readonly returnedBy?: NonNullable<Transaction['returnedBy']>;

  @TimeField('When it was booked.')
  readonly createdAt?: NonNullable<Transaction['createdAt']>;

  @TimeField('When its status last changed.')
  readonly updatedAt?: NonNullable<Transaction['updatedAt']>;

  @EdgeField(() => TransactionEdgesDto, 'Related records.')
  readonly edges!: TransactionEdgesDto;
}
