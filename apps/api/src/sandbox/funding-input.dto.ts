import type { FundAccountInput } from '@banking/domain';
import { AmountBodyField } from '../input/body-field.decorator.js';

export class FundAccountInputDto implements Omit<FundAccountInput, 'accountId'> {
  @AmountBodyField(
    'ours',
    'The amount that arrives: digits in minor units of the currency of the account. `"1000000"` in GBP is 10000.00, in JPY 1000000.',
    '1000000',
  )
  readonly amount!: FundAccountInput['amount'];
}
