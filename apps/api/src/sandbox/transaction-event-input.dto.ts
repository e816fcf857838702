import type { TransactionEventWish } from '@banking/domain';
import { CodeField, RequiredChoiceField } from '../input/body-field.decorator.js';

export class TransactionEventWishDto implements Omit<TransactionEventWish, 'transactionId'> {
  @RequiredChoiceField('ours', ['RJCT', 'ACCC', 'ACSP'], 'Payment status of ISO 20022: `ACSP` on its way, `ACCC` credited to the beneficiary, `RJCT` rejected.') // prettier-ignore
  readonly status!: TransactionEventWish['status'];

  @CodeField('ours', 35, "The network's reason as it is to come, such as `AC04`: an account that is closed.", 'AC04')
  readonly reasonCode?: NonNullable<TransactionEventWish['reasonCode']>;
}
