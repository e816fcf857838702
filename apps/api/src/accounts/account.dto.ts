import {
  type Account,
  ACCOUNT_STEPS,
  type AccountChange,
  type Balance,
  type OpenAccountInput,
  type ReceivingDetails,
} from '@banking/domain';
import { EdgeField, Field, IdField, ListedField, OwnTextField, TextField, TimeField } from '../http/field.decorator.js';
import { ChoiceField, IdBodyField, LineField } from '../input/body-field.decorator.js';
import { CurrencyDto, ProductDto } from '../products/product.dto.js';

export class BalanceDto implements Balance {
  @IdField('The snapshot.', 26)
  readonly id!: Balance['id'];

  @Field('stated', {
    type: 'integer',
    format: 'int64',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "An integer in minor units of the account's currency: `46125000` in EUR is 461250.00.",
    example: 46125000,
  })
  readonly amount!: Balance['amount'];

  @TimeField('Time of the balance.')
  readonly createdAt?: NonNullable<Balance['createdAt']>;

  @TimeField('Equal to `createdAt`: a snapshot does not change.')
  readonly updatedAt?: NonNullable<Balance['updatedAt']>;
}

class AccountEdgesDto {
  @EdgeField(() => [BalanceDto], 'The latest balance: one element.')
  readonly balances!: readonly BalanceDto[];

  @EdgeField(() => CurrencyDto, 'The one currency the account holds.')
  readonly currency!: CurrencyDto;

  @EdgeField(() => ProductDto, 'The product of the account.')
  readonly product!: ProductDto;
}

export class AccountDto implements Account {
  @IdField('The account.', 2)
  readonly id!: Account['id'];

  @TextField('Name of the account holder.', 'Northwind Trading')
  readonly name!: string;

  @ListedField('`enabled` or `disabled`.', Object.keys(ACCOUNT_STEPS), 'enabled')
  readonly status!: Account['status'];

  @TextField('Cash account type of ISO 20022: `CACC` current, `SVGS` savings, and others.', 'CACC')
  readonly type!: Account['type'];

  @TextField('Nickname.', 'European suppliers', false)
  readonly alias?: string;

  @TextField('Account code in the core banking system. Other workspaces pay to it.', 'NW0000000002', false)
  readonly code?: string;

  @TimeField('Time of opening.')
  readonly createdAt?: NonNullable<Account['createdAt']>;

  @TimeField('Time of the last change of its details.')
  readonly updatedAt?: NonNullable<Account['updatedAt']>;

  @EdgeField(() => AccountEdgesDto, 'Related records.')
  readonly edges!: AccountEdgesDto;
}

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

export class ReceivingDetailsDto implements ReceivingDetails {
  @OwnTextField('The holder of the bank account, as the payer writes it.', 'Harbour Payments GmbH')
  readonly holder!: string;

  @OwnTextField('The IBAN of the bank account.', 'DE89370400440532013000', false)
  readonly iban?: string;

  @OwnTextField('The number of a bank account without an IBAN.', '000123456789', false)
  readonly accountNumber?: string;

  @OwnTextField('The BIC of the bank.', 'COBADEFFXXX')
  readonly bic!: string;

  @OwnTextField('Code of the currency (ISO 4217).', 'EUR')
  readonly currency!: ReceivingDetails['currency'];

  @OwnTextField('What the payer writes as the reference: the code of the account.', 'BA0500000000001001')
  readonly reference!: string;
}
