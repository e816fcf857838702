import type { Quote } from '@banking/domain';
import { AccountDto } from '../accounts/account.dto.js';
import { AmountField, EdgeField, Field, IdField, Ours, TimeField } from '../http/field.decorator.js';
import { CurrencyDto } from '../products/currency.dto.js';
import { RecipientDto } from '../recipients/recipient.dto.js';

class QuoteEdgesDto {
  @Ours()
  @EdgeField(() => AccountDto, 'The account that pays.')
  readonly account!: AccountDto;

  @Ours()
  @EdgeField(() => RecipientDto, 'The recipient, if the request names one.', false)
  readonly recipient?: RecipientDto;

  @Ours()
  @EdgeField(() => CurrencyDto, 'The currency of `targetAmount`.')
  readonly targetCurrency!: CurrencyDto;
}

export class QuoteDto implements Quote {
  @Ours()
  @IdField('The quote.', 1)
  readonly id!: Quote['id'];

  @Ours()
  @AmountField(
    'The amount without the fee, in minor units of the currency of the account. The debit is `amount` plus `feeAmount`.',
    '250000',
  )
  readonly amount!: Quote['amount'];

  @Field('ours', {
    type: 'string',
    pattern: '^(0|[1-9][0-9]{0,14})(\\.[0-9]{1,15})?$',
    description:
      'Whole units of the target currency for one of the currency of the account, with at most fifteen significant digits.',
    example: '83',
  })
  readonly rate!: Quote['rate'];

  @Ours()
  @AmountField(
    'The fee, in minor units of the currency of the account. Omitted without a recipient, because the corridor sets the fee.',
    '600',
    false,
  )
  readonly feeAmount?: NonNullable<Quote['feeAmount']>;

  @Ours()
  @AmountField(
    'The amount that arrives, in minor units of the target currency: `amount` times `rate`, rounded down, or the `targetAmount` of the request.',
    '20750000',
  )
  readonly targetAmount!: Quote['targetAmount'];

  @Ours()
  @TimeField('Time of expiry.', true)
  readonly expiresAt!: Quote['expiresAt'];

  @Ours()
  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<Quote['createdAt']>;

  @Ours()
  @TimeField('Equal to `createdAt`: a quote does not change.')
  readonly updatedAt?: NonNullable<Quote['updatedAt']>;

  @Ours()
  @EdgeField(() => QuoteEdgesDto, 'Related records.')
  readonly edges!: QuoteEdgesDto;
}
