import { ACCOUNT_STEPS, type AccountChange, type OpenAccountInput } from '@banking/domain';
import { ChoiceField, IdBodyField, LineField } from '../input/body-field.decorator.js';

const ALIAS_MAX = 140;

export class OpenAccountInputDto implements OpenAccountInput {
  @IdBodyField('ours', 'The product to open the account from: an id of `GET /products`. It sets the currency.', 2)
  readonly productID!: OpenAccountInput['productID'];

  @LineField('ours', ALIAS_MAX, 'Nickname.', 'Trade fairs')
  readonly alias?: string;
}

export class AccountChangeDto implements Omit<AccountChange, 'accountId'> {
  @LineField('ours', ALIAS_MAX, 'The new nickname.', 'Trade fairs, Berlin')
  readonly alias?: string;

  @ChoiceField('ours', Object.keys(ACCOUNT_STEPS), 'A disabled account pays nothing and accepts only returned money.')
  readonly status?: NonNullable<AccountChange['status']>;
}
