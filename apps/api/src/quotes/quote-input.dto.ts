import type { QuoteWish } from '@banking/domain';
import {
  CurrencyBodyField,
  IdBodyField,
  OptionalAmountBodyField,
  OptionalIdBodyField,
} from '../input/body-field.decorator.js';

export class QuoteWishDto implements QuoteWish {
  @IdBodyField('ours', 'The account that pays.', 1)
  readonly accountID!: QuoteWish['accountID'];

  @OptionalAmountBodyField('ours', 'What is to leave the account besides the fee: digits in minor units of its currency. `"250000"` in USD is 2500.00. Either this or `targetAmount`.', '250000') // prettier-ignore
  readonly amount?: NonNullable<QuoteWish['amount']>;

  @OptionalAmountBodyField('ours', 'What is to arrive, exactly: digits in minor units of the target currency. `"20750000"` in INR is 207500.00. Either this or `amount`.', '20750000') // prettier-ignore
  readonly targetAmount?: NonNullable<QuoteWish['targetAmount']>;

  @OptionalIdBodyField('ours', 'Who is to be paid. Either this or `targetCurrency`.', 2)
  readonly recipientID?: NonNullable<QuoteWish['recipientID']>;

  @CurrencyBodyField('ours', 'What is to be paid in, where nobody is named yet: an ISO 4217 code. Either this or `recipientID`.', 'INR') // prettier-ignore
  readonly targetCurrency?: string;
}
