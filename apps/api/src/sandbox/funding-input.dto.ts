import type { FundingWish } from '@banking/domain';
import { AmountBodyField } from '../input/body-field.decorator.js';

export class FundingWishDto implements Omit<FundingWish, 'accountId'> {
  @AmountBodyField('ours', 'How much arrives: digits in minor units of the account\'s currency. `"1000000"` in GBP is 10000.00, in JPY 1000000.', '1000000') // prettier-ignore
  readonly amount!: FundingWish['amount'];
}
