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
  @EdgeField(() => RecipientDto, 'Who is paid, where that was named.', false)
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
  @AmountField("What leaves the account besides the fee, in minor units of its currency. Debited is this and `feeAmount`. Of a quote for a `targetAmount`, the smallest amount that covers it.", '250000') // prettier-ignore
  readonly amount!: Quote['amount'];

  @Field('ours', {
    type: 'string',
    pattern: '^(0|[1-9][0-9]{0,14})(\\.[0-9]{1,15})?$',
    description:
      "What one whole unit of the account's currency buys in whole units of the target's, exactly as it is used: rounded down to fifteen significant digits at most. `1` within a currency.",
    example: '83',
  })
  readonly rate!: Quote['rate'];

  @Ours()
  @AmountField("In minor units of the account's currency, debited besides `amount`. Left out where no recipient is named: it depends on the way there.", '600', false) // prettier-ignore
  readonly feeAmount?: NonNullable<Quote['feeAmount']>;

  @Ours()
  @AmountField('What arrives, in minor units of the target currency: `amount` at `rate`, rounded down, or the `targetAmount` of the request.', '20750000') // prettier-ignore
  readonly targetAmount!: Quote['targetAmount'];

  @Ours()
  @TimeField('Until when it holds.', true)
  readonly expiresAt!: Quote['expiresAt'];

  @Ours()
  @TimeField('When the quote was given.')
  readonly createdAt?: NonNullable<Quote['createdAt']>;

  @Ours()
  @TimeField('The same: a quote never changes.')
  readonly updatedAt?: NonNullable<Quote['updatedAt']>;

  @Ours()
  @EdgeField(() => QuoteEdgesDto, 'Related records.')
  readonly edges!: QuoteEdgesDto;
}
