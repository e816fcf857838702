import type { CreateQuoteInput } from '@banking/domain';
import {
  CurrencyBodyField,
  IdBodyField,
  OptionalAmountBodyField,
  OptionalIdBodyField,
} from '../input/body-field.decorator.js';

export class CreateQuoteInputDto implements CreateQuoteInput {
  @IdBodyField('ours', 'The account that pays.', 1)
  readonly accountID!: CreateQuoteInput['accountID'];

  @OptionalAmountBodyField(
    'ours',
    'The amount without the fee: digits in minor units of the currency of the account. `"250000"` in USD is 2500.00. Set this or `targetAmount`.',
    '250000',
  )
  readonly amount?: NonNullable<CreateQuoteInput['amount']>;

  @OptionalAmountBodyField(
    'ours',
    'The exact amount that arrives: digits in minor units of the target currency. `"20750000"` in INR is 207500.00. Set this or `amount`.',
    '20750000',
  )
  readonly targetAmount?: NonNullable<CreateQuoteInput['targetAmount']>;

  @OptionalIdBodyField('ours', 'The recipient. Set this or `targetCurrency`.', 2)
  readonly recipientID?: NonNullable<CreateQuoteInput['recipientID']>;

  @CurrencyBodyField(
    'ours',
    'The currency that arrives, for a quote without a recipient: an ISO 4217 code. Set this or `recipientID`.',
    'INR',
  )
  readonly targetCurrency?: string;
}
