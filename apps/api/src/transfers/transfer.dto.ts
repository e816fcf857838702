import type { PaymentAdvice, Transfer } from '@banking/domain';
import {
  EdgeField,
  Field,
  OwnAmountField,
  OwnEdgeField,
  OwnIdField,
  OwnTextField,
  OwnTimeField,
} from '../http/field.decorator.js';
import { TransactionDto, TransferFieldsDto, TransferFieldsEdgesDto } from '../transactions/transaction.dto.js';
import { StatementAccountDto } from '../accounts/statement.dto.js';
import { CurrencyDto } from '../products/product.dto.js';
import { RecipientDto } from '../recipients/recipient.dto.js';

class TransferEdgesDto extends TransferFieldsEdgesDto {
  @EdgeField(() => TransactionDto, 'The transaction that executed it.', false)
  readonly transaction?: TransactionDto;
}

export class TransferDto extends TransferFieldsDto implements Transfer {
  @EdgeField(() => TransferEdgesDto, 'Related records.')
  readonly edges!: TransferEdgesDto;
}

class PaymentAdviceEdgesDto {
  @OwnEdgeField(() => StatementAccountDto, 'The account that paid, without its balance.')
  readonly account!: StatementAccountDto;

  @OwnEdgeField(() => RecipientDto, 'The recipient.')
  readonly recipient!: RecipientDto;

  @OwnEdgeField(() => CurrencyDto, 'The currency of `targetAmount`.')
  readonly targetCurrency!: CurrencyDto;
}

export class PaymentAdviceDto implements PaymentAdvice {
  @OwnIdField('The transfer that left the account.', 40)
  readonly id!: PaymentAdvice['id'];

  @OwnIdField('The transaction of the transfer.', 13)
  readonly transactionID!: PaymentAdvice['transactionID'];

  @OwnIdField('The order of the payment.', 1, false)
  readonly orderID?: NonNullable<PaymentAdvice['orderID']>;

  @Field('ours', {
    type: 'string',
    enum: ['pending', 'completed', 'failed'],
    description: 'Status of the transaction. `completed`: the money has arrived.',
    example: 'completed',
  })
  readonly status!: PaymentAdvice['status'];

  @Field('ours', {
    type: 'string',
    format: 'uuid',
    description:
      'Unique end-to-end transaction reference (UETR), by which banks trace a payment. Omitted for a payment within this service.',
    example: 'eb6305c9-1f7f-49de-aed0-16487c27b42d',
    required: false,
  })
  readonly uetr?: string;

  @OwnAmountField('Debited without the fee, in minor units of the currency of the account.', '250000')
  readonly amount!: PaymentAdvice['amount'];

  @OwnAmountField('The fee, in minor units of the currency of the account. `"0"` for a free payment.', '600')
  readonly feeAmount!: PaymentAdvice['feeAmount'];

  @OwnAmountField('What arrives, in minor units of `edges.targetCurrency`.', '20750000')
  readonly targetAmount!: PaymentAdvice['targetAmount'];

  @OwnTextField(
    'The rate that was applied: whole units of the target currency for one of the currency of the account. Omitted without a conversion.',
    '83',
    false,
  )
  readonly rate?: string;

  @OwnTextField('The source of the rate.', 'Demo rates of this project', false)
  readonly rateSource?: string;

  @OwnTimeField('The time of the rate at its source.')
  readonly rateAsOf?: NonNullable<PaymentAdvice['rateAsOf']>;

  @OwnTextField('Description.', 'Family support', false)
  readonly description?: string;

  @OwnTextField('Purpose code as it was sent.', 'IR002', false)
  readonly purpose?: string;

  @OwnTimeField('When the account was debited.', true)
  readonly debitedAt!: PaymentAdvice['debitedAt'];

  @OwnTimeField('When the transaction got its final status. Omitted while it is pending.')
  readonly endedAt?: NonNullable<PaymentAdvice['endedAt']>;

  @OwnEdgeField(() => PaymentAdviceEdgesDto, 'Related records.')
  readonly edges!: PaymentAdviceEdgesDto;
}
