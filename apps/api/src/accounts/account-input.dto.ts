import { ACCOUNT_STEPS, type AccountChange, type AccountWish } from '@banking/domain';
import { ChoiceField, IdBodyField, LineField } from '../input/body-field.decorator.js';

const ALIAS_MAX = 140;

export class AccountWishDto implements AccountWish {
  @IdBodyField('ours', 'What to open: an id from `GET /products`. It decides the currency.', 2)
  readonly productID!: AccountWish['productID'];

  @LineField('ours', ALIAS_MAX, 'What you call it.', 'Trade fairs')
  readonly alias?: string;
}

export class AccountChangeDto implements Omit<AccountChange, 'accountId'> {
  @LineField('ours', ALIAS_MAX, 'What you call it from now on.', 'Trade fairs, Berlin')
  readonly alias?: string;

  @ChoiceField(
    'ours',
    Object.keys(ACCOUNT_STEPS),
    'A disabled account pays nothing and takes nothing but money that comes back.',
  )
  readonly status?: NonNullable<AccountChange['status']>;
}
