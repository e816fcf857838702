import type { AddTransactionEventInput } from '@banking/domain';
import { CodeField, RequiredChoiceField } from '../input/body-field.decorator.js';

export class AddTransactionEventInputDto implements Omit<AddTransactionEventInput, 'transactionId'> {
  @RequiredChoiceField(
    'ours',
    ['RJCT', 'ACCC', 'ACSP'],
    'Payment status of ISO 20022: `ACSP` on its way, `ACCC` credited to the beneficiary, `RJCT` rejected.',
  )
  readonly status!: AddTransactionEventInput['status'];

  @CodeField('ours', 35, 'The reason code of the network, such as `AC04`: the account is closed.', 'AC04')
  readonly reasonCode?: NonNullable<AddTransactionEventInput['reasonCode']>;
}
