import type { QuoteWish } from '@banking/domain';
import { AmountBodyField, CurrencyBodyField, IdBodyField, OptionalIdBodyField } from '../input/body-field.decorator.js';

export class QuoteWishDto implements QuoteWish {
  @IdBodyField('ours', 'The account that pays.', 1)
  readonly accountID!: QuoteWish['accountID'];

  @AmountBodyField('ours', 'What is to leave the account besides the fee: digits in minor units of its currency. `"250000"` in USD is 2500.00.', '250000') // prettier-ignore
  readonly amount!: QuoteWish['amount'];

  @OptionalIdBodyField('ours', 'Who is to be paid. Either this or `targetCurrency`.', 2)
  readonly recipientID?: NonNullable<QuoteWish['recipientID']>;

  @CurrencyBodyField('ours', 'What is to be paid in, where nobody is named yet: an ISO 4217 code. Either this or `recipientID`.', 'INR') // prettier-ignore
  readonly targetCurrency?: string;
}
